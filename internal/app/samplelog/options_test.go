// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/samplelog"
)

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	type bundles = []samplelog.Bundle
	for _, test := range []struct {
		name string
		set  func(*samplelog.Options)
		want string
	}{
		{"neither", func(o *samplelog.Options) { o.Decisions = 0 }, "set either Size or Decisions"},
		{"both", func(o *samplelog.Options) { o.Size = 1 }, "set either Size or Decisions"},
		{"negative", func(o *samplelog.Options) { o.Decisions = -1 }, "set either Size or Decisions"},
		{"negative size", func(o *samplelog.Options) { o.Size = -1 }, "set either Size or Decisions"},
		{"container", func(o *samplelog.Options) { o.Container = "tar" }, `Container: "tar" is none: use one of ndjson, console`},
		{"compression", func(o *samplelog.Options) { o.Compression = "xz" }, `Compression: "xz" is none: use one of none, gzip, zstd`},
		{"others in an array", func(o *samplelog.Options) { o.Container, o.OtherLines = "upload", 0.1 }, `container "upload" has no other lines`},
		{"rate", func(o *samplelog.Options) { o.Rate = -1 }, "Rate is -1: it must be from 0.001 to 1e+06"},
		{"no rate", func(o *samplelog.Options) { o.Rate = math.NaN() }, "Rate is NaN"},
		{"drift", func(o *samplelog.Options) { o.Drift = 2.1 }, "Drift is 2.1"},
		{"event", func(o *samplelog.Options) { o.EventBytes = 65 << 20 }, "EventBytes is"},
		{"paths", func(o *samplelog.Options) { o.Paths = 1_000_001 }, "Paths is"},
		{"instances", func(o *samplelog.Options) { o.Instances = -1 }, "Instances is -1"},
		{"bad", func(o *samplelog.Options) { o.BadShare = 1 }, "BadShare is 1"},
		{"others", func(o *samplelog.Options) { o.OtherLines = 1 }, "OtherLines is 1"},
		{"start", func(o *samplelog.Options) { o.Start = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC) }, "the year of Start is 1969"},
		{"span", func(o *samplelog.Options) { o.Decisions, o.Rate = 1e9, 0.001 }, "more than 50 years"},
		{"label", func(o *samplelog.Options) { o.Labels = map[string][]string{"id": {"x"}} }, `OPA itself sets label "id"`},
		{"label without values", func(o *samplelog.Options) { o.Labels = map[string][]string{"team": nil} }, `label "team" has no values`},
		{"revision", func(o *samplelog.Options) { o.Bundles = bundles{{Name: "a"}} }, `Bundles[0]: bundle "a" has no Revision`},
		{"change", func(o *samplelog.Options) { o.Bundles = bundles{{Name: "a", Revision: "1", NewRevision: "2"}} }, "needs both"},
		{"change to nothing", func(o *samplelog.Options) { o.Bundles = bundles{{Name: "a", Revision: "1", ChangeAt: start}} }, "needs both"},
		{"bundle twice", func(o *samplelog.Options) {
			o.Bundles = bundles{{Name: "a", Revision: "1"}, {Name: "a", Revision: "2"}}
		}, `Bundles[1]: bundle "a" is there twice`},
		{"no name", func(o *samplelog.Options) {
			o.Bundles = bundles{{Name: "a", Revision: "1"}, {Revision: "2"}}
		}, "Bundles[1]: a bundle without a name must be the only one"},
		{"factor", regression("", "rego_query_eval", 0.5), "Factor is 0.5"},
		{"no factor", regression("", "rego_query_eval", math.NaN()), "Factor is NaN"},
		{"path", regression("no/path", "rego_query_eval", 2), `"no/path" is none of the 10 paths`},
		{"stage", regression("", "rego_eval", 2), `"rego_eval" is no stage of path "httpapi/authz/allow"`},
		{"stage of others", regression("trino/allow", "rego_builtin_http_send", 2), `is no stage of path "trino/allow"`},
		{"before", func(o *samplelog.Options) {
			regression("", "rego_query_eval", 2)(o)
			o.Regression.At = start.Add(-1)
		}, "before Start"},
	} {
		o := samplelog.Options{Decisions: 10, Start: start}
		test.set(&o)
		truth, err := samplelog.Write(io.Discard, o)
		if err == nil || truth != nil || !strings.HasPrefix(err.Error(), "samplelog: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func regression(path, stage string, factor float64) func(*samplelog.Options) {
	return func(o *samplelog.Options) {
		o.Regression = &samplelog.Regression{At: start, Path: path, Stage: stage, Factor: factor}
	}
}

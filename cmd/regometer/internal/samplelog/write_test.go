// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

var start = time.Date(2026, 3, 4, 23, 59, 58, 0, time.UTC)

// write returns a log, and the truth about it.
func write(t *testing.T, o samplelog.Options) (string, *samplelog.Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := samplelog.Write(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), truth
}

// everything returns options for a log with all features.
func everything(container string) samplelog.Options {
	o := samplelog.Options{
		Decisions: 3000, Seed: 7, Start: start, Rate: 20, Drift: 0.2, Container: container, Paths: 14, BadShare: 0.1,
		Bundles: []samplelog.Bundle{
			{Name: "authz", Revision: "a1", NewRevision: "a2", ChangeAt: start.Add(20 * time.Second)},
			{Name: "aaa", Revision: "b&1"},
		},
		Regression: &samplelog.Regression{At: start.Add(30 * time.Second), Stage: "rego_query_eval", Factor: 3},
		File:       "sample.log",
	}
	if container != "upload" && container != "pretty" {
		o.OtherLines = 0.2
	}
	return o
}

var update = flag.Bool("update", false, "write the golden file")

// TestDeterminism checks that the same options give the same bytes on every
// machine and with every version of Go.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, container := range samplelog.Containers() {
		o := everything(container)
		o.EventBytes = 1500
		text, truth := write(t, o)
		indented, err := json.MarshalIndent(truth, "", " ")
		fmt.Fprintf(&b, "%-17s text %x truth %x\n", container, sha256.Sum256([]byte(text)), sha256.Sum256(indented))
		if err != nil {
			t.Error(err)
		}
	}
	const golden = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || b.String() != string(want) {
		t.Errorf("the logs differ from those of %s (error %v); run the test with -update if they should:\n%s", golden, err, b.String())
	}
}

// encode returns what OPA's encoders write.
func encode(t *testing.T, value any) string {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// near returns the true quantiles of a stage if those of a report are near them.
func near(got *samplelog.Quantiles, want *samplelog.Stage) *samplelog.Quantiles {
	if got == nil || want == nil || want.Quantiles == nil {
		return got
	}
	w := want.Quantiles
	for _, q := range [][2]int64{{got.P50, w.P50}, {got.P90, w.P90}, {got.P95, w.P95}, {got.P99, w.P99}, {got.P999, w.P999}} {
		if math.Abs(float64(q[0]-q[1])) > 0.011*float64(q[1])+1 {
			return got
		}
	}
	return w
}

// TestTruth compares the truth with a report of the log. TestReadContainers in
// package report compares them for short lines and compressed logs.
func TestTruth(t *testing.T) {
	t.Parallel()
	for _, container := range samplelog.Containers() {
		o := everything(container)
		o.Decisions, o.Size, o.EventBytes, o.Paths = 0, 3<<20, 20_000, 5000
		o.File = filepath.Join(t.TempDir(), "log")
		text, truth := write(t, o)
		if err := os.WriteFile(o.File, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := report.Read(t.Context(), report.Options{Inputs: []string{o.File}})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		var got samplelog.Truth
		if err := errors.Join(r.Report().WriteJSON(&b), json.Unmarshal(b.Bytes(), &got)); err != nil {
			t.Fatal(err)
		}
		for _, g := range got.Groups {
			for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
				g.Outcomes[outcome] += 0 // a report leaves out those without decisions
			}
			for name, s := range g.Stages { // whose quantiles are within 1.1 %
				if at := slices.IndexFunc(truth.Groups, func(w samplelog.Group) bool { return w.Path == g.Path }); at >= 0 {
					s.Quantiles = near(s.Quantiles, truth.Groups[at].Stages[name])
				}
			}
		}
		if g, w := encode(t, got), encode(t, truth); g != w {
			t.Errorf("%s: the log holds\n%.2000s\nthe truth is\n%.2000s", container, g, w)
		}
		if each := int64(len(text)) / truth.Inputs.Decisions; len(text) < 3<<20 || len(text) > 7<<19 || each < 16_000 || each > 45_000 {
			t.Errorf("%s: %d bytes, %d for each event", container, len(text), each)
		}
	}
}

// TestChanges checks that the stage of a regression becomes slower, and the
// stage that contains it, and nothing else; and that a bundle changes in time.
func TestChanges(t *testing.T) {
	t.Parallel()
	o := everything("ndjson")
	o.BadShare, o.OtherLines, o.Regression.At, o.Regression.Factor = 0, 0, start, 4
	text, slow := write(t, o)
	o.Regression = nil
	_, usual := write(t, o)
	sums := func(truth *samplelog.Truth, path string) map[string]*samplelog.Stage {
		return truth.Groups[slices.IndexFunc(truth.Groups, func(g samplelog.Group) bool { return g.Path == path })].Stages
	}
	before, after := sums(usual, "httpapi/authz/allow"), sums(slow, "httpapi/authz/allow")
	if got, want := after["rego_query_eval"].Sum, 4*before["rego_query_eval"].Sum; got != want || after["server_handler"].Sum <= want {
		t.Errorf("evaluation took %d ns of %d, want %d", got, after["server_handler"].Sum, want)
	}
	after["rego_query_eval"], after["server_handler"] = before["rego_query_eval"], before["server_handler"]
	if g, w := encode(t, after)+encode(t, sums(slow, "rbac/allow")), encode(t, before)+encode(t, sums(usual, "rbac/allow")); g != w {
		t.Errorf("other stages became slower: %s, want %s", g, w)
	}
	if rate := float64(o.Decisions) / usual.To.Sub(*usual.From).Seconds(); rate < 15 || rate > 30 {
		t.Errorf("%.1f decisions a second, want about %v", rate, o.Rate)
	}
	for line := range strings.Lines(text) {
		want := `"bundles":{"aaa":{"revision":"b\u00261"},"authz":{"revision":"a1"}}`
		var event struct{ Timestamp time.Time }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		if !event.Timestamp.Before(o.Bundles[0].ChangeAt) {
			want = strings.Replace(want, "a1", "a2", 1)
		}
		if !strings.Contains(line, want) {
			t.Fatalf("no %s in %s", want, line)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "gzip", "zstd"} {
		r, w := io.Pipe()
		r.Close()
		if _, err := samplelog.Write(w, samplelog.Options{Size: 10 << 20, Compression: compression}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: error %v, want the output's", compression, err)
		}
	}
	type options = samplelog.Options
	slower := func(stage string, factor float64, after time.Duration) options {
		return options{Decisions: 1, Start: start, Regression: &samplelog.Regression{At: start.Add(after), Stage: stage, Factor: factor}}
	}
	for want, o := range map[string]options{
		"set either --size":                          {},
		"set either --size or":                       {Size: 1, Decisions: 1},
		"--decisions to more than 0":                 {Decisions: -1},
		"or --decisions":                             {Size: -1},
		`invalid --form "tar": use one of ndjson, `:  {Decisions: 1, Container: "tar"},
		`invalid --compress "xz": use one of none, `: {Decisions: 1, Compression: "xz"},
		"--other must be 0":                          {Decisions: 1, Container: "upload", OtherLines: 0.1},
		"invalid --rate -1: it must be from 0.001 ":  {Decisions: 1, Rate: -1},
		"invalid --rate NaN":                         {Decisions: 1, Rate: math.NaN()},
		"invalid --drift 2.1":                        {Decisions: 1, Drift: 2.1},
		"invalid --event-size":                       {Decisions: 1, EventBytes: 65 << 20},
		"invalid --paths":                            {Decisions: 1, Paths: 1_000_001},
		"invalid --bad 1":                            {Decisions: 1, BadShare: 1},
		"invalid --other 1":                          {Decisions: 1, OtherLines: 1},
		"invalid year of --start 1969":               {Decisions: 1, Start: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)},
		"more than 50 years":                         {Decisions: 1e9, Rate: 0.001},
		"factor of --slower 0.5":                     slower("rego_query_eval", 0.5, 0),
		"factor of --slower NaN":                     slower("rego_query_eval", math.NaN(), 0),
		`has no stage "rego_eval"`:                   slower("rego_eval", 2, 0),
		"before the first decision":                  slower("rego_query_eval", 2, -1),
	} {
		if truth, err := samplelog.Write(io.Discard, o); err == nil || truth != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/samplelog"
	"github.com/regometer/regometer/prom"
)

// A mix is the durations of many decisions, sorted, in nanoseconds.
type mix struct {
	name      string
	durations []int64
}

// bucketQuantiles are the quantiles in the table of errors.
var bucketQuantiles = []float64{0.5, 0.99, 0.999}

// TestBuckets: docs/operating.md has the table of the errors of quantiles.
func TestBuckets(t *testing.T) {
	t.Parallel()
	mixes := bucketMixes(t)
	table := "| durations | exact | native | classic |\n|---|---|---|---|\n"
	for _, m := range mixes {
		h := exphist.New(exphist.DefaultLayout(exphist.Nanosecond))
		var exact, native, classic []string
		for _, d := range m.durations {
			h.Record(d)
		}
		var s exphist.Snapshot
		h.Snapshot(&s)
		for _, q := range bucketQuantiles {
			want := m.exact(q)
			decimals := max(0, 2-int(math.Floor(math.Log10(want/1e6))))
			exact = append(exact, fmt.Sprintf("%.*f", decimals, want/1e6))
			native = append(native, fmt.Sprintf("%+.1f", 100*(s.Quantile(q)/want-1)))
			classic = append(classic, fmt.Sprintf("%+.0f", 100*(m.interpolated(prom.DefaultBounds(), q)/want-1)))
		}
		join := func(of []string, unit string) string { return strings.Join(of, ", ") + unit }
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", m.name, join(exact, " ms"), join(native, " %"), join(classic, " %"))
	}
	if !strings.Contains(read(t, operating), table) {
		t.Errorf("%s lacks this table:\n%s", operating, table)
	}
}

// bucketMixes returns the mixes: durations of the handler in the sample log,
// and of a real OPA 1.22.0. In testdata, a number is a duration, rounded up to
// three digits, and *n says that it occurs n times.
func bucketMixes(t *testing.T) (mixes []mix) {
	var log bytes.Buffer
	if _, err := samplelog.Write(&log, samplelog.Options{Decisions: 40_000}); err != nil {
		t.Fatal(err)
	}
	byPath := map[string][]int64{}
	for decoder := json.NewDecoder(&log); decoder.More(); {
		var event struct {
			Path    string
			Metrics struct {
				Handler int64 `json:"timer_server_handler_ns"`
			}
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if d := event.Metrics.Handler; d > 0 {
			path := strings.TrimPrefix(event.Path, "/")
			byPath[path] = append(byPath[path], d)
		}
	}
	for _, path := range []string{"httpapi/authz/allow", "kubernetes/admission/deny", "payments/limits/decision", "terraform/analysis/score"} {
		mixes = append(mixes, mix{"sample log, `" + path + "`", byPath[path]})
	}
	for _, measured := range [][2]string{
		{"policy", "OPA, a policy of roles and grants"},
		{"timeout1s", "OPA, `http.send`, 59 % from its cache, 1.8 % time-outs of 1 s"},
		{"timeout5s", "OPA, `http.send`, 51 % from its cache, 0.8 % time-outs of 5 s"},
	} {
		m := mix{name: measured[1]}
		for field := range strings.FieldsSeq(read(t, "bench/project/testdata/buckets_"+measured[0]+".txt")) {
			duration, times, _ := strings.Cut(field, "*")
			d, err := strconv.ParseInt(duration, 10, 64)
			n, err2 := strconv.Atoi(cmp.Or(times, "1"))
			if err != nil || err2 != nil {
				t.Fatalf("%s: invalid duration %q", measured[0], field)
			}
			m.durations = append(m.durations, slices.Repeat([]int64{d}, n)...)
		}
		mixes = append(mixes, m)
	}
	for _, m := range mixes {
		slices.Sort(m.durations)
	}
	return mixes
}

func (m mix) exact(q float64) float64 {
	return float64(m.durations[int(math.Ceil(q*float64(len(m.durations))))-1])
}

// interpolated returns what Prometheus' histogram_quantile makes of buckets.
func (m mix) interpolated(bounds []int64, q float64) float64 {
	rank := q * float64(len(m.durations))
	low, below := 0.0, 0.0
	for _, bound := range bounds {
		high := float64(bound)
		at, _ := slices.BinarySearch(m.durations, bound+1)
		if n := float64(at); n >= rank {
			return low + (high-low)*(rank-below)/(n-below)
		}
		low, below = high, float64(at)
	}
	return low
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/report"
	"github.com/regometer/regometer/report/samplelog"
	"github.com/regometer/regometer/rollup"
)

// sample writes a log into a file.
func sample(t *testing.T, o samplelog.Options) (file string, truth *samplelog.Truth) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "log")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if truth, err = samplelog.Write(f, o); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file, truth
}

// write writes what the options let through. also, if not nil, is given each
// event too.
func write(t *testing.T, o report.Options, groupRows int, also func(*decisionlog.Event, func(int32) string)) ([]byte, *report.Report) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.groupRows = groupRows
	o.Each = func(key func(int32) string) func(*decisionlog.Event) error {
		rows := w.Rows(key)
		return func(e *decisionlog.Event) error {
			if also != nil {
				also(e, key)
			}
			return rows.Add(e)
		}
	}
	r, err := report.Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), r
}

var sampleOptions = samplelog.Options{
	Size: 12 << 20, Seed: 5, Paths: 7, BadShare: 0.02,
	Labels: map[string][]string{"team": {"a", "b"}, "zone \"ü\"": {"x\ny"}},
	Bundles: []samplelog.Bundle{{
		Name: "main", Revision: "r1", NewRevision: "r2", ChangeAt: time.Date(2026, 1, 2, 3, 4, 30, 0, time.UTC),
	}},
}

// What is read back is the decisions' truth: counts, sums, and the quantiles
// that sorting gives.
func TestTruth(t *testing.T) {
	t.Parallel()
	log, truth := sample(t, sampleOptions)
	for _, workers := range []int{1, 2, 7} {
		text, _ := write(t, report.Options{Inputs: []string{log}, Workers: workers}, 3000, nil)
		rows, groups := readRows(t, text)
		if groups < len(rows)/3600 || groups > len(rows)/3000+maxEncoders {
			t.Errorf("%d workers: %d rows in %d row groups", workers, len(rows), groups)
		}
		got, want := truthOf(rows), groupsOf(truth)
		for path := range want {
			if !reflect.DeepEqual(got[path], want[path]) {
				t.Errorf("%d workers: %s: got\n%s\nwant\n%s", workers, path, asJSON(got[path]), asJSON(want[path]))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d workers: paths %q", workers, slices.Sorted(maps.Keys(got)))
		}
	}
}

func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// groupsOf returns what rows are to come to, without what they do not tell.
func groupsOf(truth *samplelog.Truth) map[string]samplelog.Group {
	groups := map[string]samplelog.Group{}
	for _, g := range truth.Groups {
		maps.DeleteFunc(g.Outcomes, func(_ string, n int64) bool { return n == 0 })
		for name, s := range g.Stages {
			s.Self = 0
			g.Stages[name] = s
		}
		groups[g.Path] = g
	}
	return groups
}

// truthOf returns what rows come to.
func truthOf(rows []row) map[string]samplelog.Group {
	groups := map[string]samplelog.Group{}
	durations := map[string]map[string][]int64{}
	for _, r := range rows {
		path := r.texts["path"]
		g, ok := groups[path]
		if !ok {
			g = samplelog.Group{
				Path: path, Outcomes: map[string]int64{}, Counters: map[string]int64{}, Stages: map[string]samplelog.Stage{},
			}
			durations[path] = map[string][]int64{}
		}
		g.Decisions++
		g.Outcomes[r.texts["outcome"]]++
		for name, value := range r.counters {
			if value > 0 {
				g.Counters[name] += value
			}
		}
		timers := maps.Clone(r.timers)
		for name, value := range r.numbers {
			if stage, ok := strings.CutSuffix(name, "_ns"); ok {
				timers[stage] = value
			}
		}
		for name, value := range timers {
			durations[path][name] = append(durations[path][name], value)
		}
		groups[path] = g
	}
	for path, g := range groups {
		for name, values := range durations[path] {
			g.Stages[name] = stageOf(values)
		}
	}
	return groups
}

func stageOf(values []int64) samplelog.Stage {
	var s samplelog.Stage
	slices.Sort(values)
	for len(values) > 0 && values[0] == 0 {
		s.Unfinished++
		values = values[1:]
	}
	s.Quantiles = &samplelog.Quantiles{}
	if len(values) == 0 {
		return s
	}
	s.Count, s.Min, s.Max = int64(len(values)), values[0], values[len(values)-1]
	for _, v := range values {
		s.Sum += v
	}
	at := func(permille int) int64 { return values[(len(values)*permille+999)/1000-1] }
	*s.Quantiles = samplelog.Quantiles{P50: at(500), P90: at(900), P95: at(950), P99: at(990), P999: at(999)}
	return s
}

// Each row has all that its event has, whichever worker read it.
func TestRowsAreEvents(t *testing.T) {
	t.Parallel()
	log, _ := sample(t, sampleOptions)
	var mu sync.Mutex
	want := map[string]row{}
	text, _ := write(t, report.Options{Inputs: []string{log}, Workers: 3, Paths: []string{"httpapi", "(query)", "envoy"}}, 5000,
		func(e *decisionlog.Event, key func(int32) string) {
			mu.Lock()
			defer mu.Unlock()
			want[string(e.DecisionID)] = eventRow(e, key)
		})
	rows, _ := readRows(t, text)
	if len(rows) != len(want) || len(rows) == 0 {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for _, r := range rows {
		if w := want[r.texts["decision_id"]]; !reflect.DeepEqual(r, w) {
			t.Fatalf("got\n%v\nwant\n%v", r, w)
		}
	}
}

// eventRow returns the row of an event.
func eventRow(e *decisionlog.Event, key func(int32) string) row {
	r := newRow()
	for name, text := range map[string]string{
		"error_code": e.Code, "decision_id": string(e.DecisionID), "revision": string(e.BundleRevisions()),
		"requested_by": string(e.RequestedBy),
	} {
		if text != "" {
			r.texts[name] = text
		}
	}
	r.texts["path"], r.texts["outcome"] = string(e.Path), e.Outcome.String()
	if e.Time != rollup.NoTime {
		r.numbers["time"] = time.Unix(0, e.Time).UnixMicro()
	}
	if e.Labels != nil {
		labels := map[string]any{}
		if err := json.Unmarshal(e.Labels, &labels); err != nil {
			panic(err)
		}
		for name, value := range labels {
			if text, ok := value.(string); ok {
				r.labels[name] = text
			}
		}
	}
	stages := map[string]bool{}
	for _, s := range rollup.DefaultStages() {
		stages[s.Name] = true
	}
	for _, m := range e.Measures {
		name := key(m.Metric)
		if counter, ok := strings.CutPrefix(name, "counter_"); ok {
			r.counters[counter] = m.Value
			continue
		}
		stage := strings.TrimSuffix(strings.TrimPrefix(name, "timer_"), "_ns")
		if stages[stage] {
			r.numbers[stage+"_ns"] = m.Value
		} else {
			r.timers[stage] = m.Value
		}
	}
	return r
}

func TestNoRows(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.Rows(nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, groups := readRows(t, b.Bytes()); len(rows) != 0 || groups != 0 {
		t.Errorf("%d rows in %d row groups", len(rows), groups)
	}
}

// brokenWriter fails after so many bytes.
type brokenWriter struct{ left int }

var errBroken = errors.New("no space left")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// An error of writing is told by Add as soon as there is one, and by Close.
func TestErrors(t *testing.T) {
	t.Parallel()
	e := &decisionlog.Event{Path: []byte("a"), Time: rollup.NoTime}
	const rows = 4000
	var whole bytes.Buffer
	for left := 0; ; left += 16_000 {
		w := NewWriter(&brokenWriter{left})
		if left == 0 {
			w = NewWriter(&whole)
		}
		w.groupRows = batchRows
		r := w.Rows(nil)
		var first error
		for i := range rows {
			e.DecisionID = fmt.Appendf(nil, "%064d", i*i*i)
			err := r.Add(e)
			if i%batchRows == batchRows-1 && first != nil && !errors.Is(err, errBroken) {
				t.Fatalf("after %v, Add returns %v", first, err)
			}
			if first == nil {
				first = err
			}
		}
		err := w.Close()
		if left == 0 || left >= whole.Len() {
			if first != nil || err != nil {
				t.Errorf("%d bytes: %v, %v", left, first, err)
			}
			if left > 0 {
				break
			}
			continue
		}
		if !errors.Is(err, errBroken) {
			t.Errorf("%d of %d bytes: Close returns %v", left, whole.Len(), err)
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

// sample writes a log into a file.
func sample(t *testing.T, o samplelog.Options) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "log")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := samplelog.Write(f, o); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// write writes the events that the options select. It also passes each event to
// also, unless that is nil.
func write(t *testing.T, o report.Options, groupRows int, also func(*logread.Event, func(int32) string)) ([]byte, *report.Report) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.groupRows = groupRows
	o.Each = func(key func(int32) string, _ func(*logread.Event) func() report.Place) func(*logread.Event, [][]byte) error {
		rows := w.Rows(key)
		return func(e *logread.Event, keys [][]byte) error {
			if also != nil {
				also(e, key)
			}
			return rows.Add(e, keys)
		}
	}
	x, err := report.Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), x.Report()
}

var sampleOptions = samplelog.Options{
	Size: 12 << 20, Seed: 5, Paths: 7, Revisions: [2]string{"r1", "r2"},
	Slower: &samplelog.Slower{Stage: "rego_query_eval", Factor: 2, After: 25 * time.Second},
}

// Each row has the content of its event, for any number of workers.
func TestRowsAreEvents(t *testing.T) {
	t.Parallel()
	log := sample(t, sampleOptions)
	for _, workers := range []int{1, 2, 7} {
		var mu sync.Mutex
		want := map[string]row{}
		text, read := write(t, report.Options{Inputs: []string{log}, Workers: workers}, 3000,
			func(e *logread.Event, key func(int32) string) {
				mu.Lock()
				defer mu.Unlock()
				want[string(e.DecisionID)] = eventRow(e, key)
			})
		rows, groups := readRows(t, text)
		if n := int(read.Total.Decisions); len(rows) != n || len(want) != n {
			t.Fatalf("%d workers: %d rows of %d events, want %d", workers, len(rows), len(want), n)
		}
		if groups < len(rows)/(3000+batchRows) || groups > len(rows)/3000+1 {
			t.Errorf("%d workers: %d rows in %d row groups", workers, len(rows), groups)
		}
		for _, r := range rows {
			if w := want[r["decision_id"].(string)]; !maps.Equal(r, w) {
				t.Fatalf("%d workers: got\n%v\nwant\n%v", workers, r, w)
			}
		}
	}
}

// eventRow returns the row of an event.
func eventRow(e *logread.Event, key func(int32) string) row {
	r := row{
		"path": string(e.Path), "outcome": e.Outcome.String(), "error_code": e.Code, "decision_id": string(e.DecisionID),
		"trace_id": string(e.TraceID), "span_id": string(e.SpanID), "revision": string(e.BundleRevisions()), "requested_by": string(e.RequestedBy),
		"event_bytes": int64(len(e.Text)),
	}
	maps.DeleteFunc(r, func(_ string, text any) bool { return text == "" })
	if e.RequestID > 0 {
		r["req_id"] = int64(e.RequestID)
	}
	if e.Time != logread.NoTime {
		r["time"] = time.Unix(0, e.Time).UnixMicro()
	}
	if e.Labels != nil {
		labels := map[string]any{}
		if err := json.Unmarshal(e.Labels, &labels); err != nil {
			panic(err)
		}
		for name, value := range labels {
			if text, ok := value.(string); ok {
				r["labels."+name] = text
			}
		}
	}
	for _, m := range e.Measures {
		name := key(m.Metric)
		stage := strings.TrimSuffix(strings.TrimPrefix(name, "timer_"), "_ns")
		if counter, ok := strings.CutPrefix(name, "counter_"); ok {
			r["counters."+counter] = m.Value
		} else if slices.ContainsFunc(stages.DefaultStages(), func(s stages.Entry) bool { return s.Name == stage }) {
			r[stage+"_ns"] = m.Value
		} else {
			r["timers."+stage] = m.Value
		}
	}
	return r
}

// brokenWriter fails after some bytes.
type brokenWriter struct{ left int }

var errBroken = errors.New("no space left")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// Add returns an error of writing from the first flush that meets it, and so
// does Close.
func TestErrors(t *testing.T) {
	t.Parallel()
	write := func(out io.Writer) error {
		e := &logread.Event{Path: []byte("a"), Time: logread.NoTime}
		w := NewWriter(out)
		w.groupRows = batchRows
		r := w.Rows(nil)
		var first error
		for i := range 4000 {
			e.DecisionID = fmt.Appendf(nil, "%064d", i*i*i)
			err := r.Add(e, nil)
			if flushes := i%batchRows == batchRows-1; flushes && first != nil && !errors.Is(err, errBroken) {
				t.Fatalf("after %v, Add returns %v", first, err)
			}
			first = cmp.Or(first, err)
		}
		err := w.Close()
		if first != nil && err == nil {
			t.Errorf("after %v, Close returns nil", first)
		}
		return err
	}
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		t.Fatal(err)
	}
	for left := 0; left < whole.Len(); left += 16_000 {
		if err := write(&brokenWriter{left}); !errors.Is(err, errBroken) {
			t.Errorf("%d of %d bytes: Close returns %v", left, whole.Len(), err)
		}
	}
}

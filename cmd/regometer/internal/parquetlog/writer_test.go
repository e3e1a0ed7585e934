// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
	"github.com/regometer/regometer/internal/logread"
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

// write writes the events that the options select.
func write(t *testing.T, o report.Options, groupRows int) ([]byte, *report.Report) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.groupRows = groupRows
	o.Each = func(key func(int32) string, _ func(*logread.Event) func() report.Place) func(*logread.Event, [][]byte) error {
		return w.Rows(key).Add
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

// One worker makes the same file of the same log each time.
func TestSameFile(t *testing.T) {
	o := report.Options{Inputs: []string{sample(t, samplelog.Options{Decisions: 50, Seed: 1})}, Workers: 1}
	first, _ := write(t, o, groupRows)
	for range 3 {
		if again, _ := write(t, o, groupRows); !bytes.Equal(again, first) {
			t.Fatal("two files of one log differ")
		}
	}
}

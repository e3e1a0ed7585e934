// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/samplelog"
)

// sample writes a log into a file and returns its name, and the truth.
func sample(t *testing.T, name string, o samplelog.Options) (string, *samplelog.Truth) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	o.File = file
	var b bytes.Buffer
	truth, err := samplelog.Write(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, truth
}

// jsonReport reads logs and returns the report's JSON, whole and parsed.
func jsonReport(t *testing.T, o report.Options) ([]byte, map[string]any) {
	t.Helper()
	x, err := report.Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, x.Report()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), parsed(t, b.Bytes())
}

func parsed(t *testing.T, text []byte) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A report of a log in any container says what is in the log: counts, sums and
// extremes exactly, quantiles within the error of the histograms.
func TestReadContainers(t *testing.T) {
	t.Parallel()
	for _, container := range samplelog.Containers() {
		for _, compression := range []string{"none", "gzip", "zstd"} {
			t.Run(container+" "+compression, func(t *testing.T) {
				t.Parallel()
				o := samplelog.Options{
					Decisions: 3000, Seed: 1, Container: container, Compression: compression,
					EventBytes: 700, Paths: 7, BadShare: 0.05, OtherLines: 0.05,
				}
				if container == "upload" || container == "pretty" {
					o.OtherLines = 0
				}
				file, truth := sample(t, "log", o)
				_, got := jsonReport(t, report.Options{Inputs: []string{file}})
				_, exact := jsonReport(t, report.Options{Inputs: []string{file}, Exact: true})
				text, err := json.Marshal(truth)
				if err != nil {
					t.Fatal(err)
				}
				want := parsed(t, text)
				delete(got, "findings")
				delete(exact, "findings")
				for _, d := range differences("", want, got, relativeError) {
					t.Error(d)
				}
				for _, d := range differences("", want, exact, 0) {
					t.Errorf("exact: %s", d)
				}
			})
		}
	}
}

// relativeError is that of quantiles: see exphist.Layout.
const relativeError = 0.011

// differences returns where a report is not what is true, quantiles within a
// tolerance.
func differences(at string, want, got any, tolerance float64) (found []string) {
	differ := func() []string { return []string{fmt.Sprintf("%s: got %v, want %v", at, got, want)} }
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return differ()
		}
		for key, value := range want {
			if object[key] == nil && isZero(value) {
				continue // outcomes that there were not
			}
			found = append(found, differences(at+"/"+key, value, object[key], tolerance)...)
		}
		for key, value := range object {
			if _, ok := want[key]; !ok {
				found = append(found, fmt.Sprintf("%s/%s: got %v, want nothing", at, key, value))
			}
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return differ()
		}
		for i := range want {
			found = append(found, differences(fmt.Sprintf("%s/%d", at, i), want[i], list[i], tolerance)...)
		}
	case json.Number:
		number, ok := got.(json.Number)
		if !ok {
			return differ()
		}
		if number == want {
			return nil
		}
		w, _ := want.Float64()
		g, _ := number.Float64()
		if isQuantile := strings.Contains(at, "/p"); !isQuantile || tolerance == 0 || g < w*(1-tolerance)-1 || g > w*(1+tolerance)+1 {
			return differ()
		}
	default:
		if got != want {
			return differ()
		}
	}
	return found
}

func isZero(v any) bool { return v == nil || v == json.Number("0") }

// An interrupt does not wait for standard input, and the report is of what has
// come by then.
func TestReadInterrupted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if _, err := samplelog.Write(&log, samplelog.Options{Decisions: 100}); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{nil, log.Bytes()} {
		stdin, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for _, part := range [][]byte{text, []byte("\n")} { // the second is taken when the first has been read
				if len(text) > 0 {
					_, _ = w.Write(part)
				}
			}
			cancel()
		}()
		x, err := report.Read(ctx, report.Options{Inputs: []string{"-"}, Stdin: stdin})
		if err != nil {
			t.Fatal(err)
		}
		r := x.Report()
		want := uint64(0)
		if len(text) > 0 {
			want = 100
		}
		if !r.Interrupted || r.Total.Decisions != want || len(r.Inputs.Problems) > 0 {
			t.Errorf("interrupted %v, %d decisions, problems %v; want %d decisions", r.Interrupted, r.Total.Decisions, r.Inputs.Problems, want)
		}
		cancel()
	}
}

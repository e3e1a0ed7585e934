// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

// sampleFile writes a log into a file and returns its name, and the truth.
func sampleFile(t *testing.T, name string, o samplelog.Options) (string, *samplelog.Truth) {
	t.Helper()
	o.File = filepath.Join(t.TempDir(), name)
	var b strings.Builder
	truth, err := samplelog.Write(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, o.File, b.String()), truth
}

// jsonReport reads logs and returns the report's JSON, whole and parsed.
func jsonReport(t *testing.T, o Options) ([]byte, map[string]any) {
	t.Helper()
	x, err := Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(written(t, func(w io.Writer) error { return x.Report().WriteJSON(w) }))
	return text, parsed(t, text)
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

// sampleText returns a log with this number of decisions.
func sampleText(t *testing.T, decisions int64) string {
	t.Helper()
	var b strings.Builder
	if _, err := samplelog.Write(&b, samplelog.Options{Decisions: decisions, Paths: 20}); err != nil {
		t.Fatal(err)
	}
	return b.String()
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
				file, truth := sampleFile(t, "log", o)
				_, got := jsonReport(t, Options{Inputs: []string{file}})
				text, err := json.Marshal(truth)
				if err != nil {
					t.Fatal(err)
				}
				want := values(parsed(t, text))
				for _, d := range differences(want, values(got), relativeError) {
					t.Error(d)
				}
			})
		}
	}
}

// relativeError is that of quantiles: see exphist.Layout.
const relativeError = 0.011

// values returns the values of a report by their places, except those of 0, of
// null, of what it concludes, and of bytes, which depend on the container.
func values(report map[string]any) map[string]any {
	all := map[string]any{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if key != "bytes" || at == "/inputs" {
					walk(at+"/"+key, value)
				}
			}
		case []any:
			for i, value := range v {
				walk(fmt.Sprint(at, "/", i), value)
			}
		case nil:
		default:
			if v != json.Number("0") {
				all[at] = v
			}
		}
	}
	for _, key := range []string{"findings", "rules_not_run", "coverage"} {
		delete(report, key)
	}
	delete(report["inputs"].(map[string]any), "gaps")
	walk("", report)
	return all
}

// differences returns the values of a report that are not true, quantiles
// within a tolerance.
func differences(want, got map[string]any, tolerance float64) (found []string) {
	places := maps.Clone(want)
	maps.Copy(places, got)
	for at := range places {
		w, _ := want[at].(json.Number)
		g, _ := got[at].(json.Number)
		x, _ := w.Float64()
		y, _ := g.Float64()
		isQuantile := strings.Contains(at, "/p") && w != "" && tolerance > 0
		if want[at] != got[at] && !(isQuantile && math.Abs(x-y) <= tolerance*x+1) {
			found = append(found, fmt.Sprintf("%s: got %v, want %v", at, got[at], want[at]))
		}
	}
	return found
}

// An interrupt does not wait for standard input. The report covers the text
// that has come until then.
func TestReadInterrupted(t *testing.T) {
	t.Parallel()
	for _, text := range [][]byte{nil, []byte(sampleText(t, 100))} {
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
		x, err := Read(ctx, Options{Inputs: []string{"-"}, Stdin: stdin})
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

// What a file without an event begins with is shown, also if it is broken. Standard
// input has a name that people understand.
func TestUnrecognised(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"text\r\n":                                       "standard input has no decision: it begins with: text",
		`<e>{"decision_id":"d","path":"p"}</e>`:          `standard input has no decision: it begins with: <e>{"decision_id":"d","path":"p"}</e>`,
		`{"a":1},"decision_id":"d"}`:                     "standard input has no decision: its first object has a",
		"{\"a\": tru,\n":                                 `standard input has no decision: it begins with: {"a":`,
		`{"a":1,"hits":[{"decision_id":"d","path":"p"},`: "standard input has no decision: its first object has a; the file ends within an object",
		`[{"a":1,"b":{"c":2}}]`:                          "standard input has no decision: its first object has a, b",
		"\x89HDF\r\n":                                    "standard input is not text", "\x00\x01text\n": "standard input is not text",
		string(tarOf(t, member{name: "a", text: "text"})): "standard input:a has no decision: it begins with: text",
	} {
		x, err := Read(t.Context(), Options{Inputs: []string{standardInput}, Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Report().Inputs.Unrecognised; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A file has a failure once, also if several of its parts fail.
func TestFailureOnce(t *testing.T) {
	t.Parallel()
	in := &input{InputFile: InputFile{Name: "f"}}
	for range 3 {
		p := in.newPart()
		p.lines, p.Decisions, p.failure = 20, 1, Unreadable
	}
	if got, want := problemsOf(in.sum()), []string{Unreadable + " f:20"}; !slices.Equal(got, want) {
		t.Errorf("got problems %q, want %q", got, want)
	}
}

// A file that ends within an array lacks decisions, also after a whole element.
func TestUnclosed(t *testing.T) {
	t.Parallel()
	const event = `{"decision_id":"d","path":"p","metrics":{"timer_server_handler_ns":1}}`
	for text, want := range map[string]bool{
		"[" + event + ",\n" + event + "]\n":            false,
		"[" + event + ",\n" + event + ",\n":            true,
		"[" + event + "," + event[:20]:                 true,
		"[\n" + event + "\n" + "plain text\n" + event:  false,
		`{"hits":[` + event + "]}\n[]\n" + event[:40]:  false,
		event + "\n[\n" + event + "\n]\n" + event[:30]: false,
	} {
		in := readLog(t, text, Options{}).Report().Inputs
		problems, partly := in.Unread()
		if got := strings.Contains(problems, Unclosed); got != want || want && !partly {
			t.Errorf("%q: partly read: %v, problems: %s", text, partly, problems)
		}
	}
}

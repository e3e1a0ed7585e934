// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

// sampleText returns a log.
func sampleText(t testing.TB, o samplelog.Options) string {
	t.Helper()
	var b strings.Builder
	if err := samplelog.Write(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A report says what is in the log: counts, sums and extremes exactly, quantiles
// within the error of the histograms. It says the same of all forms of a log.
func TestReadForms(t *testing.T) {
	t.Parallel()
	o := samplelog.Options{Decisions: 3000, EventBytes: 700, Paths: 14}
	lines := sampleText(t, o)
	durations := map[string][]int64{} // by path and stage
	for d := json.NewDecoder(strings.NewReader(lines)); d.More(); {
		var event struct {
			Path    string
			Query   string
			Metrics map[string]any
		}
		if err := d.Decode(&event); err != nil {
			t.Fatal(err)
		}
		for name, value := range event.Metrics {
			if stage, ok := strings.CutPrefix(name, "timer_"); ok && value != 0.0 {
				path := cmp.Or(event.Path, map[bool]string{true: "(query)", false: "(data)"}[event.Query != ""])
				at := path + " " + strings.TrimSuffix(stage, "_ns")
				durations[at] = append(durations[at], int64(value.(float64)))
			}
		}
	}
	r := readLog(t, lines, Options{}).Report()
	for i := range r.Groups.Len() {
		g := r.Groups.At(i)
		for _, s := range g.Stages {
			at := g.Key + " " + s.Name
			all := slices.Sorted(slices.Values(durations[at]))
			delete(durations, at)
			if len(all) == 0 && s.Durations.Count() == 0 { // only timers that are unfinished
				continue
			}
			sum := int64(0)
			for _, d := range all {
				sum += d
			}
			_, lo := s.Durations.Sum()
			got := []int64{int64(s.Durations.Count()), int64(lo), s.Durations.Min(), s.Durations.Max()}
			if want := []int64{int64(len(all)), sum, all[0], all[len(all)-1]}; !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", at, got, want)
			}
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
				const relativeError = 0.011 // see exphist.Layout
				got, want := s.Durations.Quantile(q), float64(all[int(math.Ceil(q*float64(len(all))))-1])
				if math.Abs(got-want) > relativeError*want+1 {
					t.Errorf("%s: quantile %v is %v, want %v", at, q, got, want)
				}
			}
		}
	}
	if len(durations) > 0 {
		t.Errorf("the report lacks %v", durations)
	}

	same := func(r *Report) string {
		r.Inputs.Bytes, r.Inputs.Files = 0, 0
		text := []byte(written(t, func(w io.Writer) error { return r.WriteJSON(w) }))
		return regexp.MustCompile(`"bytes":\{[^}]*\}|"bytes":\d+|"findings":(?s:.*?)\n\]`).ReplaceAllString(string(text), "")
	}
	want := same(r)
	for _, form := range samplelog.Forms {
		o.Form = form
		text := sampleText(t, o)
		for _, packed := range []string{text, string(gzipped(text)), string(zstandard(text))} {
			if got := same(readLog(t, packed, Options{}).Report()); got != want {
				t.Errorf("%s: got\n%.3000s\nwant\n%.3000s", form, got, want)
			}
		}
	}
}

// An interrupt does not wait for standard input. The report covers the text
// that has come until then.
func TestReadInterrupted(t *testing.T) {
	t.Parallel()
	for _, text := range [][]byte{nil, []byte(sampleText(t, samplelog.Options{Decisions: 100, Paths: 20}))} {
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
		"text\r\n":                              "standard input has no decision: it begins with: text",
		`<e>{"decision_id":"d","path":"p"}</e>`: `standard input has no decision: it begins with: <e>{"decision_id":"d","path":"p"}</e>`,
		`{"a":1},"decision_id":"d"}`:            "standard input has no decision: its first object has a",
		"{\"a\": tru,\n":                        "standard input has no decision: its first object has a",
		`{"a":1,`:                               "standard input has no decision: its first object has a; the file ends within an object",
		`[{"a":1,"b":{"c":2}}]`:                 "standard input has no decision: its first object has a, b",
		"\x89HDF\r\n":                           "standard input is not text", "\x00\x01text\n": "standard input is not text",
		string(tarOf(t, member{name: "a", text: "text"})): "standard input:a has no decision: it begins with: text",
	} {
		x := readAll(t, Options{Inputs: []string{standardInput}, Stdin: strings.NewReader(text)})
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
	if got, want := problemsOf(in.sum()), []string{string(Unreadable) + " f:20"}; !slices.Equal(got, want) {
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
		if got := strings.Contains(problems, string(Unclosed)); got != want || want && !partly {
			t.Errorf("%q: partly read: %v, problems: %s", text, partly, problems)
		}
	}
}

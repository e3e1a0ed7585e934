// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/outcome"
)

// read is an event that can be kept and compared.
type read struct {
	Line                                          int64
	Path, ID, By, Revision, Code, Labels, Bundles string
	Time                                          int64
	Outcome                                       outcome.Outcome
	Measures                                      map[string]int64
	Trace, Span, RuleLabels                       string
	Request                                       uint64
}

// hidden is the code of a decision whose result the log does not have.
const hidden = "hidden"

// result is all that a reader said.
type result struct {
	Events       []read
	Problems     []string // kind and line, sorted
	Losses       []string // kind, number, line and time
	Lines, Other int64
}

// end adds what a reader says at the end of a text.
func (c *collector) end(r *Reader) {
	lines, other := r.Counts()
	c.Lines, c.Other = c.Lines+lines, c.Other+other
	slices.Sort(c.Problems)
}

// collector makes a reader's options that collect what it says. Lines count
// behind those of its result. If forget is not nil, it makes the reader forget
// numbers, also while another event waits.
type collector struct {
	result
	names  []string
	forget func()
}

func (c *collector) options() Options {
	return Options{
		Metric: func(key []byte) int32 {
			if i := slices.Index(c.names, string(key)); i >= 0 {
				return int32(i)
			}
			c.names = append(c.names, string(key))
			return int32(len(c.names) - 1)
		},
		Event: func(e *Event) {
			r := read{
				e.Line + c.Lines, string(e.Path), string(e.DecisionID), string(e.RequestedBy), string(e.Revision), e.Code,
				compact(e.Labels), compact(e.Bundles), e.Time, e.Outcome, map[string]int64{},
				string(e.TraceID), string(e.SpanID), compact(e.RuleLabels), e.RequestID,
			}
			if alone := (&Event{Bundles: e.Bundles, Revision: e.Revision}).BundleRevisions(); !bytes.Equal(e.BundleRevisions(), alone) {
				panic("the revisions are not those of the bundles")
			}
			if e.Hidden {
				r.Code = hidden
			}
			for _, m := range e.Measures {
				if _, ok := r.Measures[c.names[m.Metric]]; ok {
					panic("a metric is there twice")
				}
				r.Measures[c.names[m.Metric]] = m.Value
			}
			if c.Events = append(c.Events, r); c.forget != nil && len(c.Events)%3 == 1 {
				c.names = nil
				c.forget()
			}
		},
		Problem: func(kind Problem, line int64) {
			c.Problems = append(c.Problems, fmt.Sprintf("%s at %d", kind, line+c.Lines))
		},
		Loss: func(kind Problem, n, time, line int64) {
			c.Losses = append(c.Losses, fmt.Sprintf("%s %d at %d, %d", kind, n, line+c.Lines, time))
		},
	}
}

func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// readAll reads a text in one part.
func readAll(text string) result { return readParts(text, func(left int) int { return left }) }

// readParts reads a text in parts, as much at a time as size says.
func readParts(text string, size func(left int) int) result {
	var c collector
	r := NewReader(c.options())
	var rest []byte
	for len(text) > 0 {
		n := min(len(text), max(1, size(len(text))))
		given := append(bytes.Clone(rest), text[:n]...)
		text = text[n:]
		n = r.Read(given)
		rest = bytes.Clone(given[n:])
		copy(given, bytes.Repeat([]byte{'x'}, len(given))) // nobody may still look at it
	}
	r.Close(rest)
	c.end(r)
	return c.result
}

// randomParts returns sizes for readParts.
func randomParts(seed uint64, most int) func(int) int {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(int) int { return 1 + r.IntN(most) }
}

const (
	labels   = `"labels":{"id":"a","team":"x\"y"}`
	metrics1 = `"metrics":{"counter_server_query_cache_hit":1,"histogram_x":{"count":3,"min":1.5},"timer_rego_query_eval_ns":1200,"timer_server_handler_ns":5000}`
	// hostile is an input that looks like events.
	hostile = `{"labels":{"id":"no"},"path":"no","decision_id":"no","path":"p","metrics":{"timer_no_ns":1},"result":false,"error":{"code":"no"},` +
		`"log":"{\"decision_id\":\"no\"}\n","event":{"decision_id":"no"},"text":",\"labels\":{\"id\":\"no\"},\"path\":\"no\"}\n{\"decision_id\":\"no\"}\n",` +
		`"brackets":"}]{[\\\"","list":[{"decision_id":"no","input":{}},[[]],"}"],"query":"no"}`
	event1 = `{` + labels + `,"decision_id":"d1","bundles":{"a":{"revision":"1"},"b":{"revision":"2"}},"path":"rbac/allow","input":` + hostile +
		`,"result":true,"requested_by":"10.0.0.1:5","timestamp":"2026-01-02T03:04:05.678901234Z",` + metrics1 + `,"req_id":7}`
	event2 = `{` + labels + `,"decision_id":"d2","path":"/http/authz","input":"` + `{\"decision_id\":\"no\"}` + `","result":{"allowed":false,"body":{"allow":true}},"timestamp":"2026-01-02T03:04:06+01:00",` + metrics1 + `}`
	event3 = `{` + labels + `,"decision_id":"d3","query":"data.x","input":null,"result":[],"timestamp":"2026-01-02T03:04:07Z",` + metrics1 + `}`
	event4 = `{"decision_id":"d4","labels":{},"path":"","error":{"code":"eval_conflict_error","message":"x"},"timestamp":"2026-01-02T03:04:08Z",` + metrics1 + `}`
)

// sample is lines of a log that containers are made of.
type sample []string

var events = sample{event1, event2, event3, event4}

func parsed(event string) (m map[string]any) {
	d := json.NewDecoder(strings.NewReader(event))
	d.UseNumber()
	must(0, d.Decode(&m))
	return m
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// console returns an event as OPA's console has it: sorted keys, with the
// logger's own.
func console(event string) string {
	m := parsed(event)
	if m["level"] != nil { // it is a line of OPA's logger
		return event
	}
	m["level"], m["msg"], m["time"], m["type"] = "info", "Decision Log", "2026-01-02T03:04:09Z", "openpolicyagent.org/decision_logs"
	if e, ok := m["error"].(map[string]any); ok {
		m["error"] = fmt.Sprintf("policy.rego:3: %s: %s", e["code"], e["message"])
	}
	return string(must(json.Marshal(m)))
}

func pretty(text string) string {
	var b bytes.Buffer
	must(0, json.Indent(&b, []byte(text), "", "  "))
	return b.String()
}

func quoted(text string) string { return string(must(json.Marshal(text))) }

// textFormat returns an event as OPA's console has it with --log-format text.
func textFormat(event string) string {
	m := parsed(console(event))
	message, isText := m["msg"].(string)
	if !isText {
		message = string(must(json.Marshal(m["msg"])))
	}
	for _, k := range []string{"msg", "level", "time"} {
		delete(m, k)
	}
	var b strings.Builder
	b.WriteString("[INFO] " + message + "\n")
	for k, v := range m {
		text := must(json.MarshalIndent(v, "      ", "  "))
		if bytes.Contains(text, []byte{'\n'}) {
			fmt.Fprintf(&b, "  %s = |\n      %s\n", k, text)
		} else {
			fmt.Fprintf(&b, "  %s = %s\n", k, text)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// long returns an event that docker splits.
func long(event string) string {
	return `{"custom":"` + strings.Repeat("x", 2*dockerPart) + `",` + event[1:]
}

// each joins what f makes of each event.
func (s sample) each(f func(event string) string) string {
	var b strings.Builder
	for _, event := range s {
		b.WriteString(f(event))
	}
	return b.String()
}

// eachLine joins what f makes of each line of a text.
func eachLine(text string, f func(line string) string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(f(line))
	}
	return b.String()
}

func docker(line string) string {
	var b strings.Builder
	for len(line) > 0 {
		n := min(len(line), dockerPart)
		fmt.Fprintf(&b, `{"log":%s,"stream":"stderr","time":"2026-01-02T03:04:05.6Z"}`+"\n", quoted(line[:n]))
		line = line[n:]
	}
	return b.String()
}

func cri(line string) string {
	line = strings.TrimSuffix(line, "\n")
	if n := 300; len(line) > n {
		return "2026-01-02T03:04:05.600000000Z stderr P " + line[:n] + "\n" +
			"2026-01-02T03:04:05.600000000Z stdout F another line\n" + "2026-01-02T03:04:05.600000000+02:00 stderr F " + line[n:] + "\n"
	}
	return "2026-01-02T03:04:05.600000000Z stderr F " + line + "\n"
}

func prefixed(prefix string) func(string) string {
	return func(line string) string { return prefix + line }
}

func (s sample) ndjson() string { return s.each(func(e string) string { return e + "\n" }) }

// containers are texts with the same events.
func (s sample) containers() map[string]string {
	lines := s.ndjson()
	consoleLines := s.each(func(e string) string { return console(e) + "\n" })
	array := "[" + strings.Join(s, ",") + "]"
	prettyLines := s.each(func(e string) string { return pretty(e) + "\n" })
	all := s.formats()
	maps.Copy(all, map[string]string{
		"ndjson":                     lines,
		"no newline at the end":      strings.TrimSuffix(lines, "\n"),
		"CRLF":                       strings.ReplaceAll(lines, "\n", "\r\n"),
		"BOM":                        "\ufeff" + lines,
		"zeros":                      strings.Repeat("\x00", 100) + lines,
		"empty lines":                strings.ReplaceAll(lines, "\n", "\n \n\n"),
		"indented":                   eachLine(lines, prefixed("\t ")),
		"one line":                   strings.ReplaceAll(lines, "\n", ""),
		"body":                       array,
		"bodies":                     s.each(func(e string) string { return "[" + e + "]\n[]\n" }),
		"console":                    consoleLines,
		"console between others":     eachLine(consoleLines, func(l string) string { return `{"level":"info","msg":"x","path":"p","labels":{}}` + "\nplain\n" + l }),
		"pretty":                     prettyLines,
		"pretty array":               pretty(array),
		"text":                       s.each(textFormat),
		"docker":                     eachLine(lines, docker),
		"docker, split":              eachLine(s.each(func(e string) string { return long(e) + "\n" }), docker),
		"docker, pretty":             eachLine(prettyLines, docker),
		"docker, text":               eachLine(s.each(textFormat), docker),
		"CRI":                        eachLine(lines, cri),
		"CRI, pretty":                eachLine(prettyLines, cri),
		"CRI, no newline at the end": strings.TrimSuffix(eachLine(lines, cri), "\n"),
		"compose":                    eachLine(lines, prefixed("opa-1  | ")),
		"compose, no blank":          eachLine(lines, prefixed("opa-1  |")),
		"compose, colors":            eachLine(lines, prefixed("\x1b[36mopa-1  | \x1b[0m")),
		"compose, time":              eachLine(lines, prefixed("opa-1  | 2026-01-02T03:04:05.6Z ")),
		"compose, pretty array":      eachLine(pretty(array)+"\n", prefixed("logger_1  | ")),
		"compose, interleaved":       eachLine(prettyLines, func(l string) string { return "opa-1  | " + l + "nginx-1  | GET /\nopa-2 | {\n" }),
		"kubectl":                    eachLine(lines, prefixed("[pod/opa-6f/opa] ")),
		"kubectl, pretty":            eachLine(prettyLines, prefixed("[pod/opa-6f/opa] ")),
		"Splunk":                     s.wrap(`{"event":`, `,"time":1767323045.6,"host":"h"}`),
		"CRI in docker":              eachLine(eachLine(lines, cri), docker),
		"Fluent Bit in docker":       eachLine(s.text(`{"message":`, `}`), docker),
		"array of Splunk's":          "[" + strings.ReplaceAll(strings.TrimSuffix(s.wrap(`{"event":`, `}`), "\n"), "\n", ",\n") + "]",
	})
	return all
}

// kinds returns the kinds of problems, sorted.
func kinds(problems []string) (kinds []string) {
	for _, p := range problems {
		kind, _, _ := strings.Cut(p, " at ")
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// strip takes out what differs between containers.
func strip(events []read) (stripped []read) {
	for _, e := range events {
		e.Line = 0
		stripped = append(stripped, e)
	}
	return stripped
}

// All containers say the same, also where the same one had no event.
func TestContainers(t *testing.T) {
	metrics := map[string]int64{"counter_server_query_cache_hit": 1, "timer_rego_query_eval_ns": 1200, "timer_server_handler_ns": 5000}
	label := `{"id":"a","team":"x\"y"}`
	at := int64(1767323045_000000000)
	want := []read{
		{1, "rbac/allow", "d1", "10.0.0.1:5", "", "", label, `{"a":{"revision":"1"},"b":{"revision":"2"}}`, at + 678901234, outcome.Allowed, metrics, "", "", "", 7},
		{2, "http/authz", "d2", "", "", "", label, "", at + 1e9 - 3600e9, outcome.Denied, metrics, "", "", "", 0},
		{3, "(query)", "d3", "", "", "", label, "", at + 2e9, outcome.Undefined, metrics, "", "", "", 0},
		{4, "(data)", "d4", "", "", "eval_conflict_error", "{}", "", at + 3e9, outcome.Failed, metrics, "", "", "", 0},
	}
	if got := readAll(events.ndjson()); !reflect.DeepEqual(got, result{Events: want, Lines: 4}) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	for name, text := range events.containers() {
		t.Run(name, func(t *testing.T) {
			got := readEveryWay(t, strings.NewReplacer("decision_id", "decision_no", "metrics", "metrono").Replace(text), text)[1]
			checkBoundary(t, text)
			checkBoundary(t, text+"\n"+strings.Repeat(text, 3))
			if !reflect.DeepEqual(strip(got.Events), strip(want)) {
				t.Errorf("got  %+v\nwant %+v", got.Events, want)
			}
			if strings.HasSuffix(name, "interleaved") {
				return // it has another text, which breaks
			}
			if len(got.Problems) > 0 {
				t.Error(got.Problems)
			}
			if lines := int64(strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1); got.Lines != lines {
				t.Errorf("%d lines, want %d", got.Lines, lines)
			}
			other := strings.Count(text, "another line")
			if name == "console between others" {
				other = 8
			} else if strings.Contains(name, "CSV") {
				other = 1 // the header
			}
			if got.Other != int64(other) {
				t.Errorf("%d other lines, want %d", got.Other, other)
			}
		})
	}
}

// The lines of a stream say what they say by themselves. They count where they
// begin in the file: some come in parts, and some together.
func TestLinesOfStreams(t *testing.T) {
	t.Parallel()
	rolls(t, 2_000, 300, func(r *rand.Rand) bool {
		text, inCRI := strings.ToValidUTF8(brokenText(r, 6), "x"), r.IntN(3) > 0
		var file, record strings.Builder
		count, begins := 0, []int{0} // the lines of the file, and where each line of the text begins
		write := func(format string, values ...any) {
			count++
			fmt.Fprintf(&file, format+"\n", values...)
		}
		for line := range strings.Lines(text) {
			if record.Len() == 0 && r.IntN(4) == 0 {
				write("%s", oneOf(r, "x", "2026-01-02T03:04:05Z stdout F x", `{"log":"x\n","stream":"stdout"}`))
			}
			begins = append(begins, count+1)
			if !inCRI {
				if record.WriteString(line); r.IntN(3) > 0 {
					write(`{"log":%s,"stream":"stderr"}`, quoted(record.String()))
					record.Reset()
				}
				continue
			}
			line = strings.TrimSuffix(line, "\n")
			for len(line) > 1 && r.IntN(3) == 0 {
				n := 1 + r.IntN(len(line)-1)
				write("2026-01-02T03:04:05Z stderr P %s", line[:n])
				line = line[n:]
			}
			write("2026-01-02T03:04:05Z stderr F %s", line)
		}
		if record.Len() > 0 {
			write(`{"log":%s,"stream":"stderr"}`, quoted(record.String()))
		}
		want, got := readAll(text), readAll(file.String())
		for i := range want.Events {
			want.Events[i].Line = int64(begins[want.Events[i].Line])
		}
		for i, p := range want.Problems {
			kind, line, _ := strings.Cut(p, " at ")
			want.Problems[i] = fmt.Sprint(kind, " at ", begins[must(strconv.Atoi(line))])
		}
		slices.Sort(want.Problems)
		for _, x := range []*result{&got, &want} {
			for i := range x.Events {
				x.Events[i].Time = 0 // a line of CRI has a time too
			}
			x.Problems = slices.DeleteFunc(x.Problems, func(p string) bool { // without a brace, a record is none
				return !inCRI && strings.HasPrefix(p, string(InvalidJSON)) || strings.HasPrefix(p, string(WrapperTime)) || strings.HasPrefix(p, string(BadTime))
			})
		}
		if !reflect.DeepEqual(got.Events, want.Events) || !slices.Equal(got.Problems, want.Problems) {
			t.Fatalf("%s\nof\n%s\n%+v\nwant\n%+v", file.String(), text, got, want)
		}
		return len(got.Events) > 1 && len(got.Problems) > 0
	})
}

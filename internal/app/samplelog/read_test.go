// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/app/samplelog"
	"github.com/regometer/regometer/rollup"
)

// What follows reads a log plainly, with encoding/json, and shares nothing with
// what wrote it.

// A piece is an event or another line, and the line where it begins.
type piece struct {
	text string
	line int64
}

// unwrap takes what a log holds out of its container.
func unwrap(t *testing.T, container, text string) []piece {
	t.Helper()
	switch container {
	case "upload", "pretty":
		return elements(t, text)
	case "pretty-lines":
		return documents(text)
	}
	var pieces []piece
	part := ""
	begin := int64(0)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		whole := true
		switch container {
		case "ndjson", "console", "file_logger", "spaced":
		case "compose":
			line = after(t, line, "opa-1  | ")
		case "kubectl":
			line = after(t, line, "[pod/opa-6c9f7d8b5-x2v4q/opa] ")
		case "docker":
			var l struct{ Log, Stream, Time string }
			decode(t, line, &l)
			line, whole = strings.CutSuffix(l.Log, "\n")
		case "cri":
			fields := strings.SplitN(line, " ", 4)
			if _, err := time.Parse(time.RFC3339Nano, fields[0]); err != nil || fields[1] != "stderr" {
				t.Fatalf("not a line of CRI: %.80s", line)
			}
			line, whole = fields[3], fields[2] == "F"
		case "splunk":
			line = inner(line, "event")
		case "fluentbit":
			line = inner(line, "log")
		case "fluentbit-message":
			line = inner(line, "message")
		default:
			t.Fatalf("container %q is not tested", container)
		}
		if part == "" {
			begin = int64(i + 1)
		}
		if part += line; whole {
			pieces = append(pieces, piece{part, begin})
			part = ""
		} else if len(line) != 16<<10 && utf8.ValidString(line) && !strings.Contains(line, "\ufffd") {
			t.Errorf("line %d is split after %d bytes", i+1, len(line))
		}
	}
	return pieces
}

func after(t *testing.T, line, prefix string) string {
	t.Helper()
	rest, ok := strings.CutPrefix(line, prefix)
	if !ok {
		t.Fatalf("no prefix %q: %.80s", prefix, line)
	}
	return rest
}

func decode(t *testing.T, line string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), into); err != nil {
		t.Fatalf("%v: %.200s", err, line)
	}
}

// inner returns what is in an envelope, or the line if it is broken.
func inner(line, key string) string {
	var envelope map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &envelope) != nil {
		return line
	}
	var text string
	if json.Unmarshal(envelope[key], &text) == nil {
		return text
	}
	return string(envelope[key])
}

// elements returns those of all arrays of a text.
func elements(t *testing.T, text string) (pieces []piece) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			return pieces
		} else if err != nil {
			t.Fatal(err)
		}
		for decoder.More() {
			var raw json.RawMessage
			if err := decoder.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			begin := int(decoder.InputOffset()) - len(raw)
			pieces = append(pieces, piece{string(raw), 1 + int64(strings.Count(text[:begin], "\n"))})
		}
		if _, err := decoder.Token(); err != nil {
			t.Fatal(err)
		}
	}
}

// documents returns lines, of which some belong together, from one with { to
// one with }.
func documents(text string) (pieces []piece) {
	var open []string
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case open != nil || line == "{":
			if open = append(open, line); line == "}" {
				pieces = append(pieces, piece{strings.Join(open, "\n"), int64(i + 2 - len(open))})
				open = nil
			}
		default:
			pieces = append(pieces, piece{line, int64(i + 1)})
		}
	}
	return pieces
}

// fieldsOf returns the fields of an object, and whether a key was there twice.
func fieldsOf(t *testing.T, text string) (fields map[string]json.RawMessage, twice bool) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	fields = map[string]json.RawMessage{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		_, there := fields[key.(string)]
		twice = twice || there
		fields[key.(string)] = value
	}
	return fields, twice
}

func stringIn(fields map[string]json.RawMessage, key string) string {
	var s string
	_ = json.Unmarshal(fields[key], &s) // "" if it is none
	return s
}

// A found event is what a log says about a decision.
type found struct {
	path, outcome string
	time          time.Time // zero if there is none
	problems      []string
	counters      map[string]int64
	timers        map[string]int64
}

// eventOf reads an event, or returns nil for another line.
func eventOf(t *testing.T, text string) *found {
	t.Helper()
	fields, twice := fieldsOf(t, text)
	_, labels := fields["labels"]
	_, id := fields["decision_id"]
	_, path := fields["path"]
	_, query := fields["query"]
	_, message := fields["msg"]
	if !(labels || id) || !(path || query || id) || message && stringIn(fields, "msg") != "Decision Log" {
		return nil
	}
	e := &found{counters: map[string]int64{}, timers: map[string]int64{}}
	switch {
	case path:
		e.path = strings.TrimPrefix(stringIn(fields, "path"), "/")
	case query:
		e.path = "(query)"
	default:
		e.path = "(data)"
	}
	e.outcome = outcomeIn(t, fields, query)
	if twice {
		e.problems = append(e.problems, "duplicate_key")
	}
	if !utf8.ValidString(text) {
		e.problems = append(e.problems, "invalid_utf8")
	}
	var err error
	if e.time, err = time.Parse(time.RFC3339Nano, stringIn(fields, "timestamp")); err != nil {
		e.problems = append(e.problems, "bad_timestamp")
	}
	if fields["metrics"] == nil {
		e.problems = append(e.problems, "no_metrics")
		return e
	}
	e.readMetrics(t, string(fields["metrics"]))
	return e
}

func (e *found) readMetrics(t *testing.T, text string) {
	t.Helper()
	metrics, twice := fieldsOf(t, text)
	if twice {
		e.problems = append(e.problems, "duplicate_key")
	}
	for key, raw := range metrics {
		timer, isTimer := strings.CutPrefix(key, "timer_")
		counter, isCounter := strings.CutPrefix(key, "counter_")
		if !isTimer && !isCounter {
			continue
		}
		value, err := strconv.ParseInt(string(raw), 10, 64)
		switch {
		case err != nil:
			e.problems = append(e.problems, "bad_metric")
		case value < 0:
			e.problems = append(e.problems, "negative_metric")
		case isTimer:
			e.timers[strings.TrimSuffix(timer, "_ns")] = value
		default:
			e.counters[counter] = value
		}
	}
}

func outcomeIn(t *testing.T, fields map[string]json.RawMessage, query bool) string {
	t.Helper()
	if raw := fields["error"]; raw != nil {
		code := stringIn(fields, "error")
		var object struct{ Code string }
		if json.Unmarshal(raw, &object) == nil {
			code = object.Code
		}
		code, _, _ = strings.Cut(code, ":")
		switch code {
		case "eval_cancel_error":
			return "cancelled"
		case "undefined_document":
			return "undefined"
		}
		return "error"
	}
	if bytes.Contains(fields["erased"], []byte(`"/result"`)) {
		return "result"
	}
	var result any
	if fields["result"] == nil {
		return "undefined"
	}
	decode(t, string(fields["result"]), &result)
	if list, _ := result.([]any); query && len(list) == 0 {
		return "undefined"
	}
	return rollup.ResultOutcome(result).String()
}

// selfTimes takes what stages took from the nearest that contains them.
func selfTimes(timers map[string]int64) map[string]int64 {
	parents := map[string][]string{}
	for _, s := range rollup.DefaultStages() {
		parents[s.Name] = strings.Fields(s.Parent)
	}
	self := map[string]int64{}
	for name, value := range timers {
		self[name] += value
		if value == 0 {
			continue
		}
		around := parents[name]
		if strings.HasPrefix(name, "eval_op_") {
			around = parents["eval_op_*"]
		}
		for len(around) > 0 {
			var outer []string
			at := slices.IndexFunc(around, func(p string) bool { return timers[p] > 0 })
			if at >= 0 {
				self[around[at]] -= value
				break
			}
			for _, p := range around {
				outer = append(outer, parents[p]...)
			}
			around = outer
		}
	}
	return self
}

// readLog is the truth about a text, as read from it.
func readLog(t *testing.T, container, file, text string) *samplelog.Truth {
	t.Helper()
	truth := &samplelog.Truth{Version: 1, Groups: []samplelog.Group{}, Inputs: samplelog.Inputs{Files: 1, Problems: []samplelog.Problem{}}}
	groups := map[string]*samplelog.Group{}
	durations := map[[2]string][]int64{}
	problem := func(kind string, line int64) {
		at := slices.IndexFunc(truth.Inputs.Problems, func(p samplelog.Problem) bool { return p.Kind == kind })
		if at < 0 {
			at = len(truth.Inputs.Problems)
			truth.Inputs.Problems = append(truth.Inputs.Problems, samplelog.Problem{Kind: kind})
		}
		p := &truth.Inputs.Problems[at]
		if p.Count++; p.Count <= 5 {
			p.First = append(p.First, samplelog.Place{File: file, Line: line})
		}
	}
	for _, p := range unwrap(t, container, text) {
		if !strings.HasPrefix(p.text, "{") {
			truth.Inputs.OtherLines++
			continue
		}
		if !json.Valid([]byte(p.text)) {
			problem("invalid_json", p.line)
			continue
		}
		e := eventOf(t, p.text)
		if e == nil {
			truth.Inputs.OtherLines++
			continue
		}
		truth.Inputs.Decisions++
		for _, kind := range e.problems {
			problem(kind, p.line)
		}
		if !e.time.IsZero() {
			if truth.From == nil {
				truth.From = &e.time
			}
			truth.To = &e.time
		}
		g := groups[e.path]
		if g == nil {
			g = &samplelog.Group{Path: e.path, Counters: map[string]int64{}, Stages: map[string]samplelog.Stage{},
				Outcomes: map[string]int64{"allowed": 0, "denied": 0, "result": 0, "undefined": 0, "error": 0, "cancelled": 0}}
			groups[e.path] = g
		}
		g.Decisions++
		g.Outcomes[e.outcome]++
		for name, n := range e.counters {
			if n > 0 {
				g.Counters[name] += n
			}
		}
		self := selfTimes(e.timers)
		for name, value := range e.timers {
			s := g.Stages[name]
			if value == 0 {
				s.Unfinished++
			} else {
				s.Count++
				s.Sum += value
				s.Self += self[name]
				if self[name] < 0 {
					t.Errorf("stage %s took %d ns less than what it contains", name, -self[name])
				}
				durations[[2]string{e.path, name}] = append(durations[[2]string{e.path, name}], value)
			}
			g.Stages[name] = s
		}
	}
	for key, values := range durations {
		slices.Sort(values)
		s := groups[key[0]].Stages[key[1]]
		s.Min, s.Max = values[0], values[len(values)-1]
		s.Quantiles = &samplelog.Quantiles{P50: rank(values, "0.5"), P90: rank(values, "0.9"), P95: rank(values, "0.95"),
			P99: rank(values, "0.99"), P999: rank(values, "0.999")}
		groups[key[0]].Stages[key[1]] = s
	}
	totals := map[string]int64{}
	for path, g := range groups {
		for name, s := range g.Stages {
			totals[path] += s.Self
			if s.Quantiles == nil {
				s.Quantiles = &samplelog.Quantiles{}
				g.Stages[name] = s
			}
		}
		truth.Groups = append(truth.Groups, *g)
	}
	slices.SortFunc(truth.Groups, func(a, b samplelog.Group) int {
		return cmp.Or(cmp.Compare(totals[b.Path], totals[a.Path]), cmp.Compare(a.Path, b.Path))
	})
	slices.SortFunc(truth.Inputs.Problems, func(a, b samplelog.Problem) int { return cmp.Compare(a.Kind, b.Kind) })
	return truth
}

// rank is the quantile by nearest rank: the value at the least whole number
// that is not below q·n.
func rank(sorted []int64, q string) int64 {
	share, _ := new(big.Rat).SetString(q)
	at := share.Mul(share, big.NewRat(int64(len(sorted)), 1))
	whole, rest := new(big.Int).QuoRem(at.Num(), at.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return sorted[whole.Int64()-1]
}

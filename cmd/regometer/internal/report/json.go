// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// WriteJSON writes a report as JSON. Each finding, group and slow decision has
// a line, so that reports can be compared line by line.
//
// Groups are in the report's order. Each begins with its key, under the name
// Report.By. Numbers are integers, times are in ns, and sums may exceed 64
// bits. Outcomes of 0 are included, and counters of 0 are left out. Names
// within outcomes, counters and stages are sorted. Bytes that are not UTF-8
// become U+FFFD. The error is that of w.
func (r *Report) WriteJSON(w io.Writer) error {
	out := bufio.NewWriter(w)
	head := marshal(struct {
		Version  int      `json:"version"`
		Inputs   Inputs   `json:"inputs"`
		From     *string  `json:"from"`
		To       *string  `json:"to"`
		Coverage []string `json:"coverage"`
		NotRun   []NotRun `json:"rules_not_run"`
	}{1, r.Inputs, jsonTime(r.From), jsonTime(r.To), r.Coverage(), r.NotRun()})
	out.Write(head[:len(head)-1])
	writeLines(out, "findings", len(r.Findings), func(i int) []byte { return marshal(r.Findings[i]) })
	var memory Group
	writeLines(out, "groups", r.Groups.Len(), func(i int) []byte { return marshalGroup(r.By, r.Groups.get(i, false, &memory)) })
	if len(r.Slowest) > 0 {
		writeLines(out, "slowest", len(r.Slowest), func(i int) []byte { return marshalSlow(r.By, &r.Slowest[i]) })
	}
	out.WriteString("}\n")
	return out.Flush()
}

// writeLines writes a list as the next field of an object. Each of its n
// elements has a line.
func writeLines(out *bufio.Writer, name string, n int, line func(i int) []byte) {
	out.WriteString(`,"` + name + `":[`)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line(i))
	}
	if n > 0 {
		out.WriteByte('\n')
	}
	out.WriteByte(']')
}

func jsonTime(ns int64) *string {
	if ns == logread.NoTime {
		return nil
	}
	return new(text.Time(ns, time.RFC3339Nano))
}

// stageFigures are the figures of a stage, in ns but for the numbers of timers.
type stageFigures struct {
	Count      uint64      `json:"count"`
	Unfinished uint64      `json:"unfinished"`
	Sum        groupby.Sum `json:"sum_ns"`
	Self       groupby.Sum `json:"self_ns"`
	Min        int64       `json:"min_ns"`
	Max        int64       `json:"max_ns"`
	P50        int64       `json:"p50_ns"`
	P90        int64       `json:"p90_ns"`
	P95        int64       `json:"p95_ns"`
	P99        int64       `json:"p99_ns"`
	P999       int64       `json:"p999_ns"`
}

// marshalGroup returns a group as JSON, with its key under the name by.
func marshalGroup(by string, g *Group) []byte {
	group := struct {
		Decisions uint64                  `json:"decisions"`
		Outcomes  map[string]uint64       `json:"outcomes"`
		Bytes     groupby.Sizes           `json:"bytes,omitzero"`
		Counters  map[string]groupby.Sum  `json:"counters"`
		Stages    map[string]stageFigures `json:"stages"`
	}{g.Decisions, map[string]uint64{}, g.Sizes, map[string]groupby.Sum{}, map[string]stageFigures{}}
	for o, n := range g.Outcomes {
		group.Outcomes[outcome.Outcome(o).String()] = n
	}
	for _, c := range g.Counters {
		if c.Total != (groupby.Sum{}) {
			group.Counters[c.Name] = c.Total
		}
	}
	for i := range g.Stages {
		s := &g.Stages[i]
		d, q := &s.Durations, quantiles(&s.Durations)
		group.Stages[s.Name] = stageFigures{d.Count(), s.Unfinished, s.Took(), s.Self, d.Min(), d.Max(), q[0], q[1], q[2], q[3], q[4]}
	}
	return KeyedJSON(by, g.Key, group)
}

// marshalSlow returns a slow decision as JSON, with its key under the name by.
func marshalSlow(by string, d *SlowDecision) []byte {
	return KeyedJSON(by, d.Key, struct {
		ID      string  `json:"decision_id,omitempty"`
		TraceID string  `json:"trace_id,omitempty"`
		Time    *string `json:"time"`
		Outcome string  `json:"outcome"`
		Took    int64   `json:"took_ns"`
		Place
	}{d.ID, d.TraceID, jsonTime(d.Time), d.Outcome.String(), d.Took, d.Place})
}

// KeyedJSON returns an object that has the key of a group under the name by,
// and then the members of other objects.
func KeyedJSON(by, key string, objects ...any) jsontext.Value {
	var members [][]byte
	for _, o := range slices.Concat([]any{map[string]string{by: key}}, objects) {
		text := marshal(o)
		if text = text[1 : len(text)-1]; len(text) > 0 {
			members = append(members, text)
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))
}

// marshal writes names in order, and no end of a line that readers of lines know.
func marshal(v any) []byte {
	text, _ := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true)) // which cannot fail
	return text
}

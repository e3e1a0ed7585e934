// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

type jsonHead struct {
	Version int        `json:"version"`
	Inputs  jsonInputs `json:"inputs"`
	From    *string    `json:"from"`
	To      *string    `json:"to"`
}

type jsonInputs struct {
	Files      int           `json:"files"`
	Bytes      int64         `json:"bytes"`
	Decisions  int64         `json:"decisions"`
	OtherLines int64         `json:"other_lines"`
	Problems   []jsonProblem `json:"problems"`
}

type jsonProblem struct {
	Kind  string      `json:"kind"`
	Count int64       `json:"count"`
	First []jsonPlace `json:"first"`
}

type jsonPlace struct {
	File string `json:"file"`
	Line int64  `json:"line"`
}

type jsonFinding struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// jsonGroup is a group without its key, whose name depends on Report.By.
type jsonGroup struct {
	Decisions uint64                 `json:"decisions"`
	Outcomes  map[string]uint64      `json:"outcomes"`
	Counters  map[string]json.Number `json:"counters"`
	Stages    map[string]jsonStage   `json:"stages"`
}

type jsonStage struct {
	Count      uint64      `json:"count"`
	Unfinished uint64      `json:"unfinished"`
	Sum        json.Number `json:"sum_ns"`
	Self       json.Number `json:"self_ns"`
	Min        int64       `json:"min_ns"`
	Max        int64       `json:"max_ns"`
	P50        int64       `json:"p50_ns"`
	P90        int64       `json:"p90_ns"`
	P95        int64       `json:"p95_ns"`
	P99        int64       `json:"p99_ns"`
	P999       int64       `json:"p999_ns"`
}

// WriteJSON writes a report as JSON, with a finding and a group on a line each,
// so that two reports can be compared line by line.
//
// Groups are in the report's order; each begins with its key, under the name
// Report.By. Numbers are integers, times are in ns, and sums are written whole,
// beyond 64 bits too. Outcomes are all there, also those of 0; counters of 0
// are left out. Names within outcomes, counters and stages are sorted. Bytes
// that are no UTF-8 become U+FFFD. The error is that of w.
func WriteJSON(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	head, err := marshal(headOf(r))
	if err != nil {
		return err
	}
	out.Write(head[:len(head)-1])
	if err := writeLines(out, "findings", len(r.Findings), func(i int) ([]byte, error) {
		return marshal(jsonFinding(r.Findings[i]))
	}); err != nil {
		return err
	}
	var memory Group
	if err := writeLines(out, "groups", r.Groups.Len(), func(i int) ([]byte, error) {
		return marshalGroup(r.By, r.Groups.sum(i, &memory))
	}); err != nil {
		return err
	}
	out.WriteString("}\n")
	return out.Flush()
}

// writeLines writes a list as a further field of an object, a line each.
func writeLines(out *bufio.Writer, name string, n int, line func(i int) ([]byte, error)) error {
	out.WriteString(`,"` + name + `":[`)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		text, err := line(i)
		if err != nil {
			return err
		}
		out.WriteByte('\n')
		if _, err := out.Write(text); err != nil {
			return err // do not make the rest for nothing
		}
	}
	if n > 0 {
		out.WriteByte('\n')
	}
	out.WriteByte(']')
	return nil
}

func headOf(r *Report) jsonHead {
	in := jsonInputs{
		Files:      r.Inputs.Files,
		Bytes:      r.Inputs.Bytes,
		Decisions:  r.Inputs.Decisions,
		OtherLines: r.Inputs.OtherLines,
		Problems:   make([]jsonProblem, 0, len(r.Inputs.Problems)),
	}
	for _, p := range r.Inputs.Problems {
		first := make([]jsonPlace, 0, len(p.First))
		for _, place := range p.First {
			first = append(first, jsonPlace(place))
		}
		in.Problems = append(in.Problems, jsonProblem{p.Kind, p.Count, first})
	}
	return jsonHead{1, in, jsonTime(r.From), jsonTime(r.To)}
}

func jsonTime(ns int64) *string {
	if ns == decisionlog.NoTime {
		return nil
	}
	at := text.Time(ns, time.RFC3339Nano)
	return &at
}

func marshalGroup(by string, g *Group) ([]byte, error) {
	group := jsonGroup{
		Decisions: g.Decisions,
		Outcomes:  map[string]uint64{},
		Counters:  map[string]json.Number{},
		Stages:    map[string]jsonStage{},
	}
	for o, n := range g.Outcomes {
		group.Outcomes[rollup.Outcome(o).String()] = n
	}
	for _, c := range g.Counters {
		if c.Total != (groupby.Sum{}) {
			group.Counters[c.Name] = json.Number(sum.String(c.Total))
		}
	}
	for i := range g.Stages {
		f := g.figures(&g.Stages[i])
		q := f.Quantiles
		group.Stages[f.Name] = jsonStage{
			f.Count, f.Unfinished, json.Number(sum.String(f.Sum)), json.Number(sum.String(f.Self)),
			f.Min, f.Max, q[0], q[1], q[2], q[3], q[4],
		}
	}
	key, err := marshal(map[string]string{by: g.Key})
	if err != nil {
		return nil, err
	}
	rest, err := marshal(group)
	if err != nil {
		return nil, err
	}
	key[len(key)-1] = ','
	return append(key, rest[1:]...), nil
}

// marshal is json.Marshal without the escapes that are for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

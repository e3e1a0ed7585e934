// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
)

// WriteJSON writes a comparison as one line of JSON:
//
//	{"version":1,"by":"path","confidence":0.9500,"intervals":N,
//	 "rows":[{"path":"rbac/allow","stage":"rego_query_eval",
//	          "verdict":"slower","impact_ns":N,
//	          "before":{"count":N,"slices":N},"after":{"count":N,"slices":N},
//	          "p50":{"before_ns":N,"after_ns":N,"change":0.2081,
//	                 "low":0.1212,"high":0.3025,"verdict":"slower"},
//	          "p99":{…}}],
//	 "only":[{"path":"old/path","before":N,"after":0},
//	         {"path":"rbac/allow","stage":"…","before":0,"after":N}],
//	 "thresholds":[{"threshold":"p99:rego_query_eval>+20%","judged":N,
//	                "exceeded":[{"path":"rbac/allow","stage":"…"}]}]}
//
// The fields are those of [Comparison]. Durations are integers, in ns. A change
// is relative, with four decimals: 0.2 is 20 % more; low and high are null
// where there is no such end, or too little data. With another Comparison.By,
// what it names stands in place of path. A quantile of thresholds is there in
// the rows for which it was asked: p90, p95, p999. The error is that of w.
func (c *Comparison) WriteJSON(w io.Writer) error {
	out := struct {
		Version    int             `json:"version"`
		By         string          `json:"by"`
		Confidence fixed           `json:"confidence"`
		Intervals  int             `json:"intervals"`
		Rows       []object        `json:"rows"`
		Only       []object        `json:"only"`
		Thresholds []jsonThreshold `json:"thresholds"`
	}{1, c.By, fixed(c.Confidence), c.Intervals, []object{}, []object{}, []jsonThreshold{}}
	for _, r := range c.Rows {
		o := object{
			{c.By, r.Key}, {"stage", r.Stage}, {"verdict", r.Verdict}, {"impact_ns", r.Impact},
			{"before", jsonSide(r.Before)}, {"after", jsonSide(r.After)},
		}
		for _, ch := range r.Changes {
			j := jsonChange{integer(ch.Before), integer(ch.After), fixed(ch.Relative), fixed(ch.Low), fixed(ch.High), ch.Verdict}
			if ch.Low == -1 {
				j.Low = fixed(math.Inf(-1))
			}
			o = append(o, field{strings.ReplaceAll(name(ch.Quantile), ".", ""), j})
		}
		out.Rows = append(out.Rows, o)
	}
	for _, only := range c.Only {
		o := object{{c.By, only.Key}}
		if only.Stage != "" {
			o = append(o, field{"stage", only.Stage})
		}
		out.Only = append(out.Only, append(o, field{"before", only.Before}, field{"after", only.After}))
	}
	for _, t := range c.Thresholds {
		j := jsonThreshold{t.String(), c.Judged(t), []object{}}
		for _, r := range c.Exceeds(t) {
			j.Exceeded = append(j.Exceeded, object{{c.By, r.Key}, {"stage", r.Stage}})
		}
		out.Thresholds = append(out.Thresholds, j)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // a threshold has a >
	return e.Encode(out)
}

type jsonSide struct {
	Count  uint64 `json:"count"`
	Slices int    `json:"slices"`
}

type jsonChange struct {
	Before  int64   `json:"before_ns"`
	After   int64   `json:"after_ns"`
	Change  fixed   `json:"change"`
	Low     fixed   `json:"low"`
	High    fixed   `json:"high"`
	Verdict Verdict `json:"verdict"`
}

type jsonThreshold struct {
	Threshold string   `json:"threshold"`
	Judged    int      `json:"judged"`
	Exceeded  []object `json:"exceeded"`
}

// fixed is a number with four decimals; null if it is infinite.
type fixed float64

func (f fixed) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, rounded(float64(f), 4), 'f', 4, 64), nil
}

// object is a JSON object whose fields have an order, and names of their own.
type object []field

type field struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range [2]any{f.name, f.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

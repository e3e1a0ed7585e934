// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/report"
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
// is relative, with four decimals: 0.2 is 20 % more. low and high are null if
// the interval has no such end, or if there is too little data. The value of
// Comparison.By stands in place of path. The rows of a threshold have its
// quantile too: p90, p95 or p999. The error is that of w.
func (c *Comparison) WriteJSON(w io.Writer) error {
	out := struct {
		Version    int               `json:"version"`
		By         string            `json:"by"`
		Confidence fixed             `json:"confidence"`
		Intervals  int               `json:"intervals"`
		Rows       []json.RawMessage `json:"rows"`
		Only       []json.RawMessage `json:"only"`
		Thresholds []jsonThreshold   `json:"thresholds"`
	}{1, c.By, confidence, c.Intervals, []json.RawMessage{}, []json.RawMessage{}, []jsonThreshold{}}
	add := func(to *[]json.RawMessage, key string, objects ...any) {
		*to = append(*to, report.KeyedJSON(c.By, key, objects...))
	}
	for _, r := range c.Rows {
		changes := map[string]jsonChange{}
		for _, ch := range r.Changes {
			j := jsonChange{integer(ch.Before), integer(ch.After), fixed(ch.Relative), fixed(ch.Low), fixed(ch.High), ch.Verdict}
			if ch.Low == -1 {
				j.Low = fixed(math.Inf(-1))
			}
			changes[strings.ReplaceAll(name(ch.Quantile), ".", "")] = j
		}
		add(&out.Rows, r.Key, r, changes)
	}
	for _, only := range c.Only {
		add(&out.Only, only.Key, only)
	}
	for _, t := range c.Thresholds {
		rows, judged := c.Exceed(t)
		j := jsonThreshold{t.String(), judged, []json.RawMessage{}}
		for _, r := range rows {
			add(&j.Exceeded, r.Key, map[string]string{"stage": r.Stage})
		}
		out.Thresholds = append(out.Thresholds, j)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // a threshold has a >
	return e.Encode(out)
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
	Threshold string            `json:"threshold"`
	Judged    int               `json:"judged"`
	Exceeded  []json.RawMessage `json:"exceeded"`
}

// fixed is a number that JSON has with four decimals, or as null if it is
// infinite.
type fixed float64

func (f fixed) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, rounded(float64(f), 4), 'f', 4, 64), nil
}

// integer returns the nearest integer, from −math.MaxInt64 to math.MaxInt64.
func integer(f float64) int64 {
	switch f = math.Round(f); {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= -math.MaxInt64:
		return -math.MaxInt64
	}
	return int64(f)
}

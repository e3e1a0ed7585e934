// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"io"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

// WriteJSON writes a comparison as one line of JSON:
//
//	{"version":1,"by":"path","confidence":0.95,"intervals":N,"partly_read":false,
//	 "decisions":[{"path":"rbac/allow","verdict":"changed","impact":N,
//	               "before":{"count":N,"slices":N},"after":{"count":N,"slices":N},
//	               "allowed":{"before":0.8,"after":0.3,"change":-0.5,
//	                          "low":-0.51,"high":-0.49,"verdict":"fewer"},
//	               "denied":{…}}],
//	 "stages":[{"path":"rbac/allow","stage":"rego_query_eval",
//	            "verdict":"slower","impact":N,
//	            "before":{"count":N,"slices":N},"after":{"count":N,"slices":N},
//	            "p50":{"before":N,"after":N,"change":0.208123,
//	                   "low":0.1212,"high":0.3025,"verdict":"slower"},
//	            "p99":{…}}],
//	 "only":[{"path":"old/path","before":N,"after":0},
//	         {"path":"rbac/allow","stage":"rego_builtin_http_send",
//	          "before":0,"after":N}]}
//
// The fields are those of [Comparison]. Durations are integers, in ns. Other
// numbers have at most six decimals. low or high is missing if the interval
// has no such end, or if there is too little data. The value of Comparison.By stands
// in place of path. A row of decisions has the outcomes that occur, and a row of
// a stage the quantiles of its thresholds too: p90, p95 or p999. The error is
// that of w.
func (c *Comparison) WriteJSON(w io.Writer) error {
	text, err := c.MarshalJSON()
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// MarshalJSON returns what WriteJSON writes.
func (c *Comparison) MarshalJSON() ([]byte, error) {
	out := struct {
		Version    int              `json:"version"`
		By         string           `json:"by"`
		Confidence float64          `json:"confidence"`
		Intervals  int              `json:"intervals"`
		Partly     bool             `json:"partly_read"`
		Decisions  []jsontext.Value `json:"decisions"`
		Stages     []jsontext.Value `json:"stages"`
		Only       []jsontext.Value `json:"only"`
	}{Version: 1, By: c.By, Confidence: confidence, Intervals: c.Intervals, Partly: c.Partly, Decisions: c.rowsJSON(c.Decisions), Stages: c.rowsJSON(c.Stages)}
	for _, only := range c.Only {
		out.Only = append(out.Only, report.KeyedJSON(c.By, only.Key, only))
	}
	return json.Marshal(&out, jsontext.AllowInvalidUTF8(true))
}

func (c *Comparison) rowsJSON(rows []Row) (all []jsontext.Value) {
	for _, r := range rows {
		changes := map[string]map[string]any{}
		for _, ch := range r.Changes {
			if r.Stage != "" {
				ch.Before, ch.After = math.Round(ch.Before), math.Round(ch.After)
			}
			change := map[string]any{"before": rounded(ch.Before, 6), "after": rounded(ch.After, 6), "change": rounded(ch.Change, 6), "verdict": ch.Verdict}
			if ch.Low > -1 {
				change["low"] = rounded(ch.Low, 6)
			}
			if !math.IsInf(ch.High, 1) {
				change["high"] = rounded(ch.High, 6)
			}
			changes[strings.ReplaceAll(ch.Name, ".", "")] = change
		}
		all = append(all, report.KeyedJSON(c.By, r.Key, r, changes))
	}
	return all
}

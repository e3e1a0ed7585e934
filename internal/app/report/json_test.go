// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
)

// TestWriteJSON: the form is a promise, byte for byte but for the line breaks.
func TestWriteJSON(t *testing.T) {
	r := reportOf(groupOf("rbac/allow", [6]uint64{2, 1}, stageOf("rego_query_eval", 5, 5, 5)), groupOf("x", [6]uint64{}))
	r.Groups.At(0).Counters = []groupby.Counter{{Name: "a", Total: groupby.Sum{Hi: 1}}, {Name: "zero"}}
	r.Groups.At(0).Stages[0].Unfinished = 7
	r.Groups.At(0).Stages[0].Self = groupby.Sum{Hi: math.MaxUint64, Lo: math.MaxUint64}
	r.From, r.To = 0, 1_500_000_000
	r.Inputs = Inputs{Files: 1, Bytes: 2, Decisions: 3, OtherLines: 4, Problems: []Problem{{"truncated", 1, []Place{{"f", 9}}}}}
	r.Findings = []Finding{{"rule", "a < b"}}
	want := `{"version":1,"inputs":{"files":1,"bytes":2,"decisions":3,"other_lines":4,` +
		`"problems":[{"kind":"truncated","count":1,"first":[{"file":"f","line":9}]}]},` +
		`"from":"1970-01-01T00:00:00Z","to":"1970-01-01T00:00:01.5Z",` +
		`"findings":[{"rule":"rule","text":"a < b"}],` +
		`"groups":[{"path":"rbac/allow","decisions":3,` +
		`"outcomes":{"allowed":2,"cancelled":0,"denied":1,"error":0,"result":0,"undefined":0},` +
		`"counters":{"a":18446744073709551616},` +
		`"stages":{"rego_query_eval":{"count":3,"unfinished":7,"sum_ns":15,` +
		`"self_ns":340282366920938463463374607431768211455,"min_ns":5,"max_ns":5,` +
		`"p50_ns":5,"p90_ns":5,"p95_ns":5,"p99_ns":5,"p999_ns":5}}},` +
		`{"path":"x","decisions":0,"outcomes":{"allowed":0,"cancelled":0,"denied":0,"error":0,"result":0,"undefined":0},` +
		`"counters":{},"stages":{}}]}`
	got := written(t, func(w io.Writer) error { return WriteJSON(w, r) })
	if strings.ReplaceAll(got, "\n", "") != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if lines := strings.Count(got, "\n"); lines != 6 {
		t.Errorf("%d lines", lines)
	}
}

func TestWriteJSONEmpty(t *testing.T) {
	got := written(t, func(w io.Writer) error {
		return WriteJSON(w, &Report{From: decisionlog.NoTime, To: decisionlog.NoTime})
	})
	want := `{"version":1,"inputs":{"files":0,"bytes":0,"decisions":0,"other_lines":0,"problems":[]},` +
		`"from":null,"to":null,"findings":[],"groups":[]}` + "\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestWriteJSONBy(t *testing.T) {
	for _, by := range []string{"path", "hour", "label:team", `label:"\`} {
		r := sample()
		r.By = by
		var read struct {
			Groups []map[string]any `json:"groups"`
		}
		if err := json.Unmarshal([]byte(written(t, func(w io.Writer) error { return WriteJSON(w, r) })), &read); err != nil {
			t.Fatal(err)
		}
		if len(read.Groups) != r.Groups.Len() {
			t.Fatalf("%d groups", len(read.Groups))
		}
		for i, g := range read.Groups {
			if want := strings.ToValidUTF8(r.Groups.At(i).Key, "\uFFFD"); g[by] != want {
				t.Errorf("by %s: %q, want %q", by, g[by], want)
			}
		}
	}
}

// TestWriteJSONIntegers: no number has a point or an exponent.
func TestWriteJSONIntegers(t *testing.T) {
	d := json.NewDecoder(strings.NewReader(written(t, func(w io.Writer) error { return WriteJSON(w, sample()) })))
	d.UseNumber()
	numbers := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := token.(json.Number); ok {
			numbers++
			if _, ok := new(big.Int).SetString(n.String(), 10); !ok {
				t.Errorf("%s", n)
			}
		}
	}
	if numbers < 100 {
		t.Errorf("%d numbers", numbers)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// testdata/decisions.jsonl was recorded from OPA.
func TestReadDecisionsOfOPA(t *testing.T) {
	t.Parallel()
	log, err := os.ReadFile("testdata/decisions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var decisions []decision
	if err := readDecisions(bytes.NewReader(log), func(d decision) { decisions = append(decisions, d) }); err != nil {
		t.Fatal(err)
	}
	got := map[outcome]int{}
	for _, d := range decisions {
		got[d.outcome]++
		if _, ok := d.timers["rego_query_eval"]; !ok {
			t.Errorf("no timer rego_query_eval in %v", d.timers)
		}
	}
	want := map[outcome]int{allowed: 4, denied: 3, undefined: 4, failed: 1, unjudged: 3}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	first := map[string]int64{
		"rego_external_resolve": 285, "rego_input_parse": 49351, "rego_query_compile": 88455,
		"rego_query_eval": 233589, "server_handler": 492308,
	}
	if !reflect.DeepEqual(decisions[0].timers, first) {
		t.Errorf("timers of the first decision: %v, want %v", decisions[0].timers, first)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fields string
		want   outcome
	}{
		{`"path":"p","result":true`, allowed},
		{`"path":"p","result":false`, denied},
		{`"path":"p","result":{"allow":true}`, allowed},
		{`"path":"p","result":{"allow":false,"reasons":[]}`, denied},
		{`"path":"p","result":{"deny":true}`, denied},
		{`"path":"p","result":{"deny":false}`, allowed},
		{`"path":"p","result":{"allow":true,"deny":true}`, denied},
		{`"path":"p","result":{"allow":"yes"}`, unjudged},
		{`"path":"p","result":{"allow":null}`, unjudged},
		{`"path":"p","result":{"deny":["reason"]}`, denied},
		{`"path":"p","result":{}`, unjudged},
		{`"path":"p","result":["true"]`, unjudged},
		{`"path":"p","result":"true"`, unjudged},
		{`"path":"p","result":null`, unjudged},
		{`"path":"p"`, undefined},
		{`"path":"p","erased":["/input/password"]`, undefined},
		{`"path":"p","erased":["/input/password","/result"]`, unjudged},
		{`"path":"p","error":"rbac.rego:3: eval_conflict_error"`, failed},
		{`"path":"p","error":{"code":"internal_error"}`, failed},
		{`"path":"p","error":null,"result":true`, allowed},
		{`"query":"data.a = x","result":[{"x":1}]`, unjudged},
		{`"query":"data.a = x","result":[]`, undefined},
		{`"query":"data.a = x","result":null`, undefined},
		{`"query":"data.a = x"`, undefined},
		{`"query":"data.a = x","error":"rego_type_error"`, failed},
	} {
		var got []outcome
		line := `{"level":"info","msg":"Decision Log",` + test.fields + "}\n"
		err := readDecisions(strings.NewReader(line), func(d decision) { got = append(got, d.outcome) })
		if err != nil || len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: %v, %v, want %s", test.fields, got, err, test.want)
		}
	}
}

func TestReadDecisionsSkips(t *testing.T) {
	t.Parallel()
	log := `panic: something
{"level":"error","msg":"Listener failed."}
{"level":"error","msg":"cannot write a \"Decision Log\""}
{"msg":"Decision Log","path":"p","result":true,"metrics":{"timer_a_ns":9007199254740993,"counter_b":2,"histogram_c":{"count":1}}}
{"msg":"Decision Log","path":"p","result":tr`
	var got []decision
	if err := readDecisions(strings.NewReader(log), func(d decision) { got = append(got, d) }); err != nil {
		t.Fatal(err)
	}
	want := []decision{{outcome: allowed, timers: map[string]int64{"a": 9007199254740993}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadDecisionsNamesTheLine(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"\n{\"msg\":\"Decision Log\"\n":                                          "line 2 is no decision-log event",
		"{\"msg\":\"Decision Log\",\"metrics\":{\"timer_a_ns\":{}}}\n":           "line 1: metric timer_a_ns: {} is no number of nanoseconds",
		"\n\n{\"msg\":\"Decision Log\",\"metrics\":{\"timer_a_ns\":\"1000\"}}\n": "line 3: metric timer_a_ns: \"1000\" is no number",
	} {
		err := readDecisions(strings.NewReader(log), func(decision) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", log, err, want)
		}
	}
}

func TestTallyClassifiesAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path   string
		status int
		body   string
		want   outcome
	}{
		{"/v1/data/p", 200, `{"result":true}`, allowed},
		{"/v1/data/p", 200, `{"result":false}`, denied},
		{"/v1/data/p", 200, `{"decision_id":"x"}`, undefined},
		{"/v1/data/p", 200, `{"result":[1]}`, unjudged},
		{"/v1/data/p", 500, `{"code":"internal_error"}`, failed},
		{"/v1/data/p", 400, `{"code":"invalid_parameter"}`, malformed},
		{"/v1/query", 200, `{}`, undefined},
		{"/v1/query", 200, `{"result":[{"x":1}]}`, unjudged},
	} {
		for _, o := range outcomes {
			tally := newTally()
			tally.add(request{path: test.path, want: o}, test.status, []byte(test.body))
			if (tally.wrong == 0) != (o == test.want) {
				t.Errorf("HTTP %d %s to a request that must lead to %q: %d wrong", test.status, test.body, o, tally.wrong)
			}
		}
	}
	tally := newTally()
	tally.add(request{path: "/v1/data/p", want: allowed}, 200, []byte("no JSON"))
	if err := tally.unexpected("server"); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("a body that is no JSON went unnoticed: %v", err)
	}
	tally = newTally()
	tally.add(request{path: "/v1/data/p", want: allowed, showMetrics: true}, 200, []byte(`{"result":true,"metrics":{"a":1}}`))
	if !reflect.DeepEqual(tally.metrics, json.RawMessage(`{"a":1}`)) {
		t.Errorf("metrics example %s", tally.metrics)
	}
}

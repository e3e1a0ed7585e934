// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

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

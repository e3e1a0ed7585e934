// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// exact is the truth of a log with two paths.
const exact = `{"inputs":{"decisions":9,"other_lines":0,"problems":[]},"groups":[
{"path":"a/b","stages":{
	"rego_query_eval":{"count":7,"p50_ns":100000,"p90_ns":200000,"p95_ns":250000,"p99_ns":300000,"p999_ns":400000,"max_ns":500000,"sum_ns":900000},
	"server_handler":{"count":6,"p50_ns":5,"p90_ns":6,"p95_ns":6,"p99_ns":7,"p999_ns":8,"max_ns":8,"sum_ns":36},
	"rego_input_parse":{"count":0,"p50_ns":0,"p90_ns":0,"p95_ns":0,"p99_ns":0,"p999_ns":0,"max_ns":0,"sum_ns":0}}},
{"path":"(query)","stages":{"rego_query_eval":{"count":2,"p50_ns":1,"p90_ns":2,"p95_ns":3,"p99_ns":4,"p999_ns":5,"max_ns":6,"sum_ns":7}}}]}`

// exactRows is the same answer in rows.
const exactRows = `[
{"path":"a/b","rego_input_parse":{"quantiles":null,"sum":null},
	"rego_query_eval":{"quantiles":[100000,200000,250000,300000,400000,500000],"sum":900000},
	"server_handler":{"quantiles":[5,6,6,7,8,8],"sum":36}},
{"path":null,"rego_query_eval":{"quantiles":[1,2,3,4,5,6],"sum":7},"server_handler":{"quantiles":null,"sum":null}}]`

func TestAnswers(t *testing.T) {
	t.Parallel()
	want, err := parseDocument(strings.NewReader(exact))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		old, changed string
		ok           bool
	}{
		{"", "", true},
		{"100000", "101100", true},
		{"100000", "98900", true},
		{"100000", "101102", false},
		{"400000", "395598", false},
		{`"p999_ns":8`, `"p999_ns":9`, true}, // whole ns
		{`"p999_ns":8`, `"p999_ns":10`, false},
		{"500000", "506000", false},
		{"900000", "910000", false},
		{`"decisions":9`, `"decisions":8`, false},
		{`"decisions":9`, `"decisions":0`, false},
		{`"other_lines":0`, `"other_lines":1`, false},
		{`"problems":[]`, `"problems":[{}]`, false},
		{"a/b", "/a/b", false},
		{"server_handler", "handler", false},
		{`"count":6`, `"count":0`, false},
		{`"p50_ns":100000,`, "", false}, // a log too large for exact quantiles
		{`{"inputs"`, `"inputs"`, false},
	} {
		got := strings.Replace(exact, test.old, test.changed, 1)
		if err := checkReport(strings.NewReader(got), want); (err == nil) != test.ok {
			t.Errorf("report with %s instead of %s: %v", test.changed, test.old, err)
		}
	}
	if err := checkRows(strings.NewReader(exactRows), want); err != nil {
		t.Error(err)
	}
	for _, test := range [][2]string{
		{"100000", "100001"},
		{"[5,6,6,7,8,8]", "[5,6,7]"},
		{"[5,6,6,7,8,8]", "null"},
		{`"sum":36`, `"sum":35`},
		{`"server_handler":{"quantiles":null`, `"server_handler":{"quantiles":[1,1,1,1,1,1]`},
		{`"path":null`, `"path":"a/c"`},
		{`"path":null`, `"path":"a/b"`},
		{`"rego_query_eval":{"quantiles":[1,2,3,4,5,6],"sum":7},`, ""},
		{"[\n{", "[\n"},
	} {
		if err := checkRows(strings.NewReader(strings.Replace(exactRows, test[0], test[1], 1)), want); err == nil {
			t.Errorf("rows with %s instead of %s: no error", test[1], test[0])
		}
	}
}

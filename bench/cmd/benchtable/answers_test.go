// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exact is a log's truth, with two paths and one or two stages.
const exact = `{"inputs":{"decisions":9,"other_lines":0,"problems":[]},"groups":[
{"path":"a/b","stages":{
	"rego_query_eval":{"count":7,"p50_ns":100000,"p90_ns":200000,"p99_ns":300000,"p999_ns":400000},
	"server_handler":{"count":6,"p50_ns":5,"p90_ns":6,"p99_ns":7,"p999_ns":8},
	"rego_input_parse":{"count":0,"p50_ns":0,"p90_ns":0,"p99_ns":0,"p999_ns":0},
	"another":{"count":1,"p50_ns":1,"p90_ns":1,"p99_ns":1,"p999_ns":1}}},
{"path":"(query)","stages":{"rego_query_eval":{"count":2,"p50_ns":1,"p90_ns":2,"p99_ns":3,"p999_ns":4}}}]}`

func exactTruth(t *testing.T, text string) (truth, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "truth.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readTruth(file)
}

func TestReadTruth(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{`"p50_ns":100000,`, ""}, // a log too large for exact quantiles
		{`"decisions":9`, `"decisions":0`},
		{`"other_lines":0`, `"other_lines":1`},
		{`"problems":[]`, `"problems":[{}]`},
		{`{"inputs"`, `"inputs"`},
	} {
		if _, err := exactTruth(t, strings.Replace(exact, test[0], test[1], 1)); err == nil {
			t.Errorf("no error for %s in place of %s", test[1], test[0])
		}
	}
	if _, err := readTruth(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a file that is not there")
	}
}

func TestCheckReport(t *testing.T) {
	t.Parallel()
	want, err := exactTruth(t, exact)
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
		{"another", "yet_another", true},
		{`"decisions":9`, `"decisions":8`, false},
		{`"problems":[]`, `"problems":[{}]`, false},
		{"a/b", "/a/b", false},
		{"server_handler", "handler", false},
		{`"count":6`, `"count":0`, false},
	} {
		got := strings.Replace(exact, test.old, test.changed, 1)
		if err := checkReport(strings.NewReader(got), want); (err == nil) != test.ok {
			t.Errorf("%s in place of %s: %v", test.changed, test.old, err)
		}
	}
}

func TestCheckRows(t *testing.T) {
	t.Parallel()
	want, err := exactTruth(t, exact)
	if err != nil {
		t.Fatal(err)
	}
	const rows = `[{"path":"a/b","rego_external_resolve":null,"rego_input_parse":null,"rego_query_eval":[100000,200000,300000,400000],"server_handler":[5,6,7,8]},
		{"path":null,"rego_external_resolve":null,"rego_input_parse":null,"rego_query_eval":[1,2,3,4],"server_handler":null}]`
	if err := checkRows(strings.NewReader(rows), want); err != nil {
		t.Error(err)
	}
	for _, test := range [][2]string{
		{"100000", "100001"},
		{"[5,6,7,8]", "[5,6,7]"},
		{"[5,6,7,8]", "null"},
		{`"server_handler":null`, `"server_handler":[1,1,1,1]`},
		{`"path":null`, `"path":"a/c"`},
		{`"path":null`, `"path":"a/b"`},
		{`"rego_query_eval":[1,2,3,4],`, ""},
		{"[{", "{"},
	} {
		if err := checkRows(strings.NewReader(strings.Replace(rows, test[0], test[1], 1)), want); err == nil {
			t.Errorf("no error for %s in place of %s", test[1], test[0])
		}
	}
}

func TestCheckLinesAndLength(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		if err := checkLines(strings.NewReader(strings.Repeat("a\n", n)), truth{decisions: 2}); (err == nil) != (n == 2) {
			t.Errorf("%d lines: %v", n, err)
		}
	}
	for text, ok := range map[string]bool{"1000\n": true, "1600\n": true, "999\n": false, "20000\n": false, "x": false} {
		if err := checkLength(1000)(strings.NewReader(text), truth{}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

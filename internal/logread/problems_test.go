// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What is wrong is told, with its line, and what follows is read.
func TestProblems(t *testing.T) {
	t.Parallel()
	whole := `{"decision_id":"d","path":"p","metrics":{}}`
	broken := `{"decision_id":"b","path":"p","metrics":{"timer_a`
	part := `{"decision_id":"d","path":"p","custom":"` + strings.Repeat("x", dockerPart) // docker goes on in the next line
	dockered := func(text string) string {
		return `{"log":` + quoted(text) + `,"stream":"stderr","time":"x"}` + "\n"
	}
	for name, test := range map[string]struct {
		text     string
		ids      string // of the events
		problems []string
		other    int64
	}{
		"nothing":                  {"", "", nil, 0},
		"plain":                    {"a\n\nb\n  c", "", nil, 3},
		"other JSON":               {`{"a":1}` + "\n[1,2]\n{}\n", "", nil, 3},
		"cut line":                 {whole + "\n" + broken + "\n" + whole + "\n", "dd", []string{"invalid_json at 2"}, 0},
		"cut behind a comma":       {`{"decision_id":"b",` + "\n" + whole + "\n", "d", []string{"invalid_json at 1"}, 0},
		"cut behind a colon":       {`{"decision_id":` + "\n" + whole + "\n" + whole + "\n", "dd", []string{"invalid_json at 1"}, 0},
		"cut behind a bracket":     {`{"input":[` + "\n" + whole + "\n" + whole + "\n", "dd", []string{"invalid_json at 1"}, 0},
		"cut file":                 {whole + "\n" + broken, "d", []string{"truncated at 2"}, 0},
		"cut file behind a comma":  {`{"decision_id":"b",` + "\n", "", []string{"truncated at 1"}, 0},
		"cut body":                 {"[" + whole + "," + broken, "d", []string{"truncated at 1"}, 0},
		"cut array":                {"[" + whole + ",", "d", nil, 0},
		"garbage behind":           {whole + " x\n" + whole, "dd", []string{"invalid_json at 1"}, 0},
		"broken in an array":       {"[\n" + whole + ",\n" + broken + ",\n" + whole + "\n]\n" + whole, "ddd", []string{"invalid_json at 3"}, 0},
		"broken, pretty":           {"{\n  \"input\": x,\n  \"list\": [\n    {\"decision_id\":\"no\"}\n  ]\n}\n" + whole, "d", []string{"invalid_json at 1"}, 0},
		"text, digits":             {"[INFO] Decision Log\n  decision_id = 7\n  path = 8\n", "7", []string{"no_metrics at 1"}, 0},
		"broken, tabs":             {"{\n\t\"input\": x,\n\t\"list\": [\n\t\t" + whole + "\n\t]\n}\n" + whole, "d", []string{"invalid_json at 1"}, 0},
		"no time":                  {"a-word-longer-than-a-moment {\n", "", nil, 1},
		"broken in a pretty array": {"[\n  {\n    \"a\" 1,\n    \"b\": [\n      {\n        \"decision_id\": \"no\"\n      }\n    ]\n  },\n  " + whole + "\n]\n", "d", []string{"invalid_json at 2"}, 0},
		"deep":                     {`{"decision_id":"d","path":"p","input":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,"metrics":{"x":` + strings.Repeat(`{"x":`, 20_000) + "1" + strings.Repeat("}", 20_000) + "}}\n" + whole, "dd", nil, 0},
		"deep, cut":                {`{"decision_id":"x","input":` + strings.Repeat("[", 100_000) + "\n" + whole, "d", []string{"truncated at 1"}, 0},
		"metrics null":             {`{"decision_id":"d","path":"p","metrics":null}`, "d", []string{"no_metrics at 1"}, 0},
		"bad UTF-8 elsewhere":      {`{"decision_id":"d","input":"` + "\xff\xfe" + `","metrics":{}}`, "d", nil, 0},
		"docker, cut":              {dockered("{\"a\":") + strings.Repeat("x\n", patience+1) + dockered(whole+"\n"), "d", []string{"truncated at 1"}, patience + 1},
		"docker, broken":           {dockered(broken+"\n") + dockered(whole+"\n") + dockered(broken) + dockered("x\n"), "d", []string{"invalid_json at 1", "invalid_json at 3"}, 1},
		"CRI, part is an object":   {eachLine("P {\"decision_id\":\"d\",\"input\":\"\nP {}\nF \",\"metrics\":{}}\n", prefixed("2026-01-02T03:04:05Z stdout ")), "d", []string{"wrapper_time at 1"}, 0},
		"CRI, ends lost":           {eachLine("P "+whole[:20]+"\nP "+whole[:20]+"\nF "+whole[20:]+"\n", prefixed("2026-01-02T03:04:05Z stdout ")), "", []string{"invalid_json at 1", "invalid_json at 1"}, 0},
		"beginning cut":            {whole[30:] + `,"metrics":{"timer_a_ns":1}}` + "\n" + whole, "d", []string{"invalid_json at 1"}, 0},
		"CSV, too few columns":     {"decision_id,result,metrics\nd,true,{}\n", "", []string{"unknown_form at 2"}, 2},
		"docker, two streams":      {dockered(part) + strings.ReplaceAll(dockered(part), "stderr", "stdout") + dockered(`","metrics":{}}`+"\n") + strings.ReplaceAll(dockered(`","metrics":{}}`+"\n"), "stderr", "stdout"), "dd", nil, 0},
		"docker, no newlines":      {dockered(part) + dockered(whole) + dockered("x") + dockered(whole), "dd", []string{"invalid_json at 1"}, 1},
		"CSV, prefix, two lines":   {"opa-1  | path,decision_id\nopa-1  | p,\"d\nx\"\ny\"\nopa-1  | q,e\n", "", []string{"invalid_json at 3", "invalid_json at 4", "unknown_form at 2", "unknown_form at 5"}, 1},
		"CSV, cut row":             {"decision_id,path,metrics.timer_a_ns\nd,p,1\ne,p", "d", []string{"truncated at 3"}, 1},
		"CSV, no event":            {"x,\"{\n\"\"a\"\": 1}\",y\n" + whole + "\n", "d", nil, 2},
		"CSV, no object":           {"x,\"{\ny\"\n" + whole + "\n", "d", nil, 2},
		"docker, within a value":   {eachLine("{\"input\":\n"+whole+"\n,\"decision_id\":\"y\",\"metrics\":{}}\n", dockered), "y", nil, 0},
		"key over lines":           {strings.Repeat("{\"decision_id\":\"a\",\"path\"\n:\"p\",\"metrics\":{\"timer_a_ns\"\n:1}}\n", 3), "aaa", nil, 0},
		"input like an event":      {`{"input":` + whole + `,"log":5}` + "\n" + `{"a":{"result":` + whole + "}}\n", "", nil, 2},
		"logfmt, cut":              {"level=info msg=" + quoted(whole)[:30] + "\nmsg=x decision_id={y}\n", "", []string{"invalid_json at 1"}, 1},
		"docker, beginning cut":    {dockered(whole)[9:] + "x \"of {\\\"decision_id\\\": 1}\" y\n", "", []string{"invalid_json at 1"}, 1},
		"several in a line":        {"59 <1> " + whole + "59 <1> " + whole + "\ntime=x decision_id=d metrics=\"map[timer_a_ns:1]\"\n", "", []string{"invalid_json at 1", "invalid_json at 1", "unknown_form at 2"}, 0},
		"export, cut":              {`{"hits":{"total":3,"hits":[` + whole + ",\n{\"_source\":" + whole + "}," + broken, "dd", []string{"truncated at 2"}, 0},
		"export of strings, cut":   {`{"tables":[{"rows":[[1,` + quoted(whole) + `],[1,` + quoted(broken)[:30], "d", []string{"truncated at 1"}, 0},
		"journald, no text":        {`{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1"}` + "\n" + `{"__REALTIME_TIMESTAMP" : "1", "MESSAGE" : [ 123, 27 ]}` + "\n" + `{"MESSAGE":"x","__REALTIME_TIMESTAMP":"1"}`, "", []string{"no_text at 1", "no_text at 2"}, 3},
		"row of an input":          {`["d",{"id":"x"},{ "timer_a_ns":1},` + whole + "]\n" + `["d","{\"counter_a\":1}",` + quoted(whole) + "]\n" + `[1,{"a":1},` + whole + "]", "d", []string{"unknown_form at 1", "unknown_form at 2"}, 0},
		"record of an input":       {"d,\"{timer_a_ns=1}\",\"" + strings.ReplaceAll(whole, `"`, `""`) + "\"\nd,\"" + strings.ReplaceAll(whole, `"`, `""`) + "\",\"{'counter_a': 1}\"\n", "", []string{"invalid_json at 1", "unknown_form at 2"}, 0},
		"columns and rows":         {`{"columns":[{"name":"decision_id"},{"name":"input"}],"rows":[["d",` + quoted(whole) + "]]}\n" + `{"columns":["event"],"rows":[[` + quoted(whole) + "]]}", "d", []string{"unknown_form at 1"}, 0},
		"columns of a width":       {" d | {\"id\":\"x\"} | " + whole + "\n x | " + whole, "d", []string{"invalid_json at 1"}, 1},
		"lines of columns":         {"path | x " + whole + "\ninput:   " + whole + "\n \"path\"=>" + quoted(whole) + "\npath=" + quoted(whole), "", []string{"invalid_json at 1", "invalid_json at 2", "invalid_json at 3", "invalid_json at 4"}, 0},
		"a brace at the end":       {"x {\n  " + whole + "\nz [INFO] x {\n\"a\":" + whole + "}\ny {\n\"a\":" + whole + "}", "dd", []string{"invalid_json at 4"}, 2},
		"YAML":                     {"- decision_id: d\n  input:\n    a:\n      " + whole + "\n  - '" + whole + "'\n  result: |\n    " + whole + "\n" + whole, "d", []string{"unknown_form at 1"}, 2},
		"list, broken":             {`{"hits":[` + whole + `,{"a":1}' ` + whole + "," + whole + "]}\n", "d", []string{"invalid_json at 1", "invalid_json at 1"}, 0},
		"strings in a list, cut":   {`{"logs":[` + quoted(whole) + "," + quoted(whole) + "," + quoted(whole)[1:] + "]}\n", "dd", []string{"invalid_json at 1"}, 0},
		"events joined":            {"opa: {\"decision_id\":\"opa: " + whole + "\n", "d", []string{"invalid_json at 1"}, 0},
		"strings, cut":             {"[" + quoted(whole) + "," + quoted(whole) + "\n", "", []string{"invalid_json at 1", "invalid_json at 1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := readAll(test.text)
			ids := ""
			for _, e := range got.Events {
				ids += e.ID
			}
			if ids != test.ids || !reflect.DeepEqual(got.Problems, test.problems) || got.Other != test.other {
				t.Errorf("events %q, %d other lines, %q; want %q, %d, %q", ids, got.Other, got.Problems, test.ids, test.other, test.problems)
			}
			if parts := readParts(test.text, randomParts(1, 1000)); !reflect.DeepEqual(parts, got) {
				t.Errorf("in parts\n%+v\nwant\n%+v", parts, got)
			}
		})
	}
}

// checkProblems checks the problems of a text.
func checkProblems(t *testing.T, text string, want ...string) {
	t.Helper()
	if got := readAll(text).Problems; !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

// A text that is too long is skipped, what follows is read, and memory stays
// bounded.
func TestTooLong(t *testing.T) {
	t.Parallel()
	block := []byte(strings.Repeat("[1,2],", 3000))
	maxLength := 4 * len(block)
	whole := `{"decision_id":"d","path":"p","metrics":{}}` + "\n"
	for name, start := range map[string]string{
		"event": `{"decision_id":"x","input":[`, "pretty": "{\n\"input\":[\n", "body": `[{"input":[`, "CRI": "2026-01-02T03:04:05.6Z stderr F {\"input\":[", "plain": "x",
		"string": `{"input":"`, "text": "[INFO] Decision Log\n  input = [", "CSV": "x,\"{\n",
	} {
		for _, atOnce := range []bool{true, false} {
			var c collector
			o := c.options()
			o.MaxLength = maxLength
			r := NewReader(o)
			text := []byte(start + strings.Repeat(" ", len(block)-len(start))) // so that parts end at maxLength
			for range 30 {
				if text = append(text, block...); atOnce {
					continue
				}
				if text = append(text[:0], text[r.Read(text):]...); len(text) > maxLength {
					t.Errorf("%s: %d bytes were asked for again", name, len(text))
				}
			}
			r.Close(append(text, "\n"+whole...))
			want := []string{"too_long at 1"}
			if name == "plain" || name == "CSV" {
				want = nil
			}
			if len(c.Events) != 1 || c.Events[0].ID != "d" || !slices.Equal(c.Problems, want) {
				t.Errorf("%s, at once %t: %+v", name, atOnce, c.result)
			}
		}
	}
	checkProblems(t, whole+whole+`{"decision_id":"x","path":"p","metrics":{},"input":"`+strings.Repeat("x", usualLength)+`"}`+"\n"+whole, "too_long at 3")
}

// An event with more metrics than are read has a problem for each of them, whether their keys
// are known or not.
func TestTooManyMetrics(t *testing.T) {
	t.Parallel()
	const odd = `"timer_bad_ns":1.5,"timer_negative_ns":-1,"timer_good_ns":1}}` + "\n"
	large := strings.Builder{}
	large.WriteString(`{"decision_id":"d","path":"p","metrics":{`)
	for i := range mostMetrics {
		large.WriteString(`"counter_` + strconv.Itoa(i) + `":1,`)
	}
	checkProblems(t, large.String()+odd, "bad_metric at 1", "bad_metric at 1", "bad_metric at 1")
	checkProblems(t, `{"decision_id":"d","path":"p","metrics":{`+odd+large.String()+odd, "bad_metric at 1", "bad_metric at 2", "bad_metric at 2", "bad_metric at 2", "negative_metric at 1")
	tooLong := `{"decision_id":"d","path":"p","metrics":{` + strings.Repeat(`"timer_`+strings.Repeat("x", longestMetric)+`_ns":1,`, mostMetrics+5) + `"x":1}}`
	checkProblems(t, tooLong, slices.Repeat([]string{"bad_metric at 1"}, mostMetrics)...)
}

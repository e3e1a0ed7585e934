// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Of an event and some of its members beside it, the event counts, in whatever
// layout and order a store has them. The problems of the others do not count.
func TestRicherEvent(t *testing.T) {
	t.Parallel()
	copies := []func(string) string{
		quoted, func(e string) string { return quoted(e + "\n") }, func(e string) string { return quoted(pretty(e)) },
		func(e string) string { return quoted("INFO opa: " + e) }, func(e string) string { return e }, func(e string) string { return `{"body":` + quoted(e) + `}` },
		func(e string) string { return quoted(`{"log":` + quoted(e) + `,"stream":"stderr"}`) },
	}
	// %[1]s is the event, and %[2]s its members.
	layouts := [][2]string{
		{`"message":%[1]s`, `%[2]s`},                                                 // Vector, Graylog, Splunk
		{`"line":%[1]s`, `"fields":{%[2]s}`},                                         // Grafana
		{`"values":[["1767323045500000000",%[1]s]]`, `"stream":{"app":"opa",%[2]s}`}, // Loki
		{`"@message":%[1]s`, `"ptr":"x","a":{"b":{%[2]s}}`},
		{`"values":[["1767323045500000000",%[1]s,{%[2]s}]]`, `"a":1`}, // Loki's structured metadata
	}
	rolls(t, 2000, 300, func(r *rand.Rand) bool {
		event := numberedEvent(r, 7)
		if r.IntN(2) == 0 {
			event = console(event)
		}
		want := readAll(event)
		poor := []string{`"decision_id":"d7"`, oneOf(r, `"path":"p7"`, `"path":"\/p7"`)}
		for _, member := range []string{`"result":"true"`, `"labels_id":"7"`, `"labels.id":"7"`, `"metrics_timer_a_ns":"x"`, `"metrics":{"timer_a_ns":-5}`, `"timestamp":"never"`, `"note":"{ \"a\": "`} {
			if r.IntN(4) == 0 {
				poor = append(poor, member)
			}
		}
		r.Shuffle(len(poor), func(i, j int) { poor[i], poor[j] = poor[j], poor[i] })
		layout := oneOf(r, layouts...)
		parts := []string{`"host":"h"`}
		for _, format := range layout {
			parts = append(parts, fmt.Sprintf(format+"%.0[1]s%.0[2]s", oneOf(r, copies...)(event), strings.Join(poor, ",")))
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		record := "{" + strings.Join(parts, ",") + "}"
		text := oneOf(r, "%s", `{"_source":%s}`, `[%s]`, `{"hits":{"hits":[{"a":1},%s]}}`, `{"n":1,"log":`+"%q}", "2026-01-02T03:04:05Z stdout F %s")
		if strings.HasSuffix(text, "%q}") {
			text = strings.Replace(text, "%q", quoted(record), 1)
		} else {
			text = strings.Replace(text, "%s", record, 1)
		}
		got := readAll(strings.Repeat(text+"\n", 2))
		if len(got.Events) != 2 || len(got.Problems) != 2*len(want.Problems) {
			t.Fatalf("%s\n%d events with %q, want twice %q", text, len(got.Events), got.Problems, want.Problems)
		}
		for i, e := range got.Events {
			if e.Line = 1; !reflect.DeepEqual(e, want.Events[0]) {
				t.Fatalf("event %d of %s\n got %+v\nwant %+v", i, text, e, want.Events[0])
			}
		}
		return len(want.Problems) > 0
	})
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	event := func(path, more string) string { return `{"decision_id":"d","path":"` + path + `"` + more + `}` }
	full, poor := event("full", `,"result":true,"metrics":{"timer_a_ns":1}`), event("poor", "")
	inside := func(text string) string { return event("outer", `,"result":true,"metrics":{},"copy":`+text) }
	checkAnswers(t, "%s", "%s", map[string]string{
		`{"a":` + poor + `,"b":` + full + `}`: "full allowed 1", `{"b":` + full + `,"a":` + poor + `}`: "full allowed 1",
		`{"a":` + poor + `,"b":` + quoted(event("full", "")) + `}`: "full undefined; no_metrics at 1", // a tie
		`{"b":` + quoted(event("full", "")) + `,"a":` + poor + `}`: "full undefined; no_metrics at 1",
		`[` + full + `,` + full + `]`:                              "full allowed 1; full allowed 1", `{"a":[` + full + `,` + full + `]}`: "full allowed 1; full allowed 1",
		`{"a":` + poor + `,"rows":[` + full + `,` + quoted(full) + `]}`:           "full allowed 1; full allowed 1", // one of them is a
		`{"a":[` + poor + `],"b":[` + full + `]}`:                                 "full allowed 1",
		`[["x",` + quoted(full) + `,` + poor + `],[1,` + poor + `,` + full + `]]`: "full allowed 1; full allowed 1", // rows
		`{"a":{"b":` + poor + `,"c":` + full + `},"d":` + poor + `}`:              "full allowed 1",
		// An event does not contain others, and its data hold none.
		inside(quoted(strings.Replace(full, `"d"`, `"e"`, 1))): "outer allowed", inside(full): "full allowed 1", inside(`[` + full + `,` + full + `]`): "full allowed 1",
		inside(quoted(`{"level":"info","msg":"x","text":` + quoted(full) + `}`)): "outer allowed", inside(`{"input":` + full + `}`): "outer allowed",
		event("outer", `,"input":`+full): "outer undefined; no_metrics at 1", event("outer", `,"result":`+quoted(full)): "outer result; no_metrics at 1",
		event("outer", `,"labels":{"x":`+quoted(full)+`}`): "outer undefined; no_metrics at 1", event("outer", `,"error":`+quoted(full)): "outer error; no_metrics at 1",
		inside(`"{\"decision_id\":"`): "outer allowed", inside(quoted("[INFO] " + full)): "outer allowed",
	})
}

// A store may flatten an event.
func TestFlattened(t *testing.T) {
	t.Parallel()
	const outcomes = "p allowed 5"
	checkAnswers(t, `{"decision_id":"d","path":"p",%s}`, "%s", map[string]string{
		`"result":true,"metrics.timer_a_ns":5`: outcomes, `"result":"true","metrics_timer_a_ns":"5"`: outcomes, `"result.allow":true,"metrics.timer_a_ns":5`: outcomes,
		`"result_allow":"true","metrics.timer_a_ns":5,"metrics.counter_b":null,"metrics.counter_c":""`: outcomes, `"result.response.allowed":true,"metrics":{"timer_a_ns":5}`: outcomes,
		`"result":"true","metrics":"{\"timer_a_ns\":5}"`: outcomes, `"result":"{\"allow\":true}","labels":"{}","metrics_timer_a_ns":5`: outcomes, `"result":true,"result_code":0,"metrics.timer_a_ns":5`: outcomes,
		`"error.code":"eval_conflict_error","metrics.timer_a_ns":5`: "p error 5", `"error_message":"","result":"false","metrics.timer_a_ns":5`: "p denied 5", `"error":"","result":"false","metrics.timer_a_ns":5`: "p denied 5",
		`"result":"yes","metrics.timer_a_ns":5`: "p result 5", `"erased":"[\"/result\"]","result":"true","metrics.timer_a_ns":5`: "p result 5", `"result":"true","labels":"{"`: "p allowed; no_metrics at 1",
		`"result":"null","metrics.timer_a_ns":5`: "p undefined 5", `"result":"","metrics.timer_a_ns":5`: "p undefined 5",
		`"result":"true","metrics":{"timer_a_ns":5}`: "p result 5", // OPA's result may be this string
	})
	checkAnswers(t, `{"%s}`, "p allowed 5", map[string]string{
		`opa.decision_id":"d","opa.path":"p","opa.result":true,"opa.metrics.timer_a_ns":5,"host":"h"`:              "",
		`log_decision_id":"d","log_path":"p","log_result":true,"log_metrics":{"timer_a_ns":5},"log_labels.id":"x"`: "",
		`_source":{"decision_id":"d","path":"p","result":true,"metrics.timer_a_ns":5}`:                             "",
	})
	// Nulls are missing, also at the end. A prefix is no name of arbitrary data.
	checkAnswers(t, "%s", "%s", map[string]string{
		`{"decision_id":"d","path":"p","metrics":{},"result.allow":true,"error.code":null}`:                                     "p allowed",
		`{"opa.input.decision_id":"e","opa.input.path":"evil","opa.decision_id":"d","opa.path":"p","opa.metrics.timer_a_ns":5}`: "p undefined 5",
		`{"@decision_id":"d","@path":"p","@input.decision_id":"e","@input.path":"evil","@metrics.timer_a_ns":5}`:                "p undefined 5",
		`{"opa.input.decision_id":"e","opa.input.path":"evil"}`:                                                                 "", `{"input.decision_id":"e","input.path":"evil"}`: "",
		`{"decision_id":"d","query":"data.users","result.0.x":true,"metrics":{}}`: "(query) result", `{"decision_id":"d","query":"data.users","result":"[]","metrics":"{}"}`: "(query) undefined",
		`{"decision_id":"d","query":"data.users","result":"x","metrics":{}}`: "(query) result",
	})
	e := readAll(`{"decision_id":"d","path":"p","labels.id":"a","labels.k8s.io/x":"y","bundles.a.b.revision":"7","labels_team":"t"}`).Events[0]
	if e.Labels != `{"id":"a","k8s.io/x":"y","team":"t"}` || e.Bundles != `{"a.b":{"revision":"7"}}` {
		t.Errorf("labels %s, bundles %s", e.Labels, e.Bundles)
	}
}

// A table has the members of an event in columns.
func TestTable(t *testing.T) {
	t.Parallel()
	const timed = " 2026-01-02T03:04:05Z"
	full := `{"decision_id":"d","path":"full","result":true,"metrics":{"timer_a_ns":5}}`
	for text, want := range map[string]string{
		"decision_id,path,result,metrics.timer_a_ns\nd,p,true,5\ne,p,t,\n":                                                              "p allowed 5; p allowed; no_metrics at 3",
		"\xef\xbb\xbf\"decision_id\";\"path\";\"result\";\"metrics\"\r\nd;p;f;\"{\"\"timer_a_ns\"\":5}\"\r\n":                           "p denied 5",
		"_time\tlog.decision_id\tlog.path\tlog.result\tlog.metrics.timer_a_ns\n2026-01-02 03:04:05Z\td\tp\t\"{\"\"allow\"\":true}\"\t5": "p allowed" + timed + " 5; wrapper_time at 2",
		"path,metrics,labels\np,\"{\n\"\"timer_a_ns\"\":5}\",{}\n\np,{},{}\n":                                                           "p undefined 5; p undefined",
		"id,message,decision_id,path\n1,\"" + strings.ReplaceAll(full, `"`, `""`) + "\",d,p\n":                                          "full allowed 5",
		"path,decision_id\n" + full + "\n{\n\"decision_id\":\"d\",\"path\":\"lines\"}\np,d\n":                                           "full allowed 5; lines undefined; p undefined; no_metrics at 3; no_metrics at 5",
		"path,decision_id\n[p,d\n\"{p\",d\n\"p\",d\n":                                                                                   "[p undefined; {p undefined; p undefined; no_metrics at 2; no_metrics at 3; no_metrics at 4",
		"decision_id,path,input\nd,p,\"" + strings.ReplaceAll(full, `"`, `""`) + "\"\ne,\"p\nf,q,\n":                                    "p undefined; q undefined; invalid_json at 3; no_metrics at 2; no_metrics at 4",
		"decision_id,path,result,error,metrics\nd,p,True,NULL,{}\ne,-,\\N,null,{}\nNULL,NULL,true,,{}\n":                                "p allowed; (data) undefined",
		"decision_id,path\nd,p\npath,decision_id\nq,e\n":                                                                                "p undefined; q undefined; no_metrics at 2; no_metrics at 4", // joined files
		"opa.input.decision_id,opa.input.path\ne,evil\n":                                                                                "",
		// These are no tables.
		"@timestamp,path,decision_id,metrics.timer_a_ns\n\"Jan 2, 2026 @ 03:04:05.000\",p,d,\"1,234,567\"\n": "p undefined" + timed + " 1234567; no_zone at 2; wrapper_time at 2", // Kibana
		"x\ndecision_id,path\nd,p\n": "", "time,message\n1,\"" + strings.ReplaceAll(full, `"`, `""`) + "\"\n": "full allowed 5",
	} {
		if got := answer(text); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
		readEveryWay(t, text)
		if whole := readAll(text); !reflect.DeepEqual(readParts(text, func(int) int { return 1 }), whole) {
			t.Errorf("%q is something else byte by byte", text)
		}
		checkBoundary(t, text)
	}
}

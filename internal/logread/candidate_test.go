// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"strings"
	"testing"
)

// Of an event and some of its members beside it, the event counts, in whatever
// layout and order a store has them. The problems of the others do not count.
func TestCandidates(t *testing.T) {
	t.Parallel()
	event := func(path, more string) string { return `{"decision_id":"d","path":"` + path + `"` + more + `}` }
	full, poor := event("full", `,"result":true,"metrics":{"timer_a_ns":1}`), event("poor", "")
	inside := func(text string) string { return event("outer", `,"result":true,"metrics":{},"copy":`+text) }
	beside := `"decision_id":"d","path":"poor","result":"x","labels_id":"7","metrics_timer_a_ns":"x"`
	values := func(text string) string { return `"values":[["1767323045500000000",` + quoted(text) + `]]` }
	whole := event("full", `,"result":true,"labels":{},"input":{},"timestamp":"2026-01-02T03:04:05Z","metrics":{"timer_a_ns":1}`)
	for _, text := range []string{whole, whole + "\n", "INFO opa: " + whole, `{"log":` + quoted(whole) + `,"stream":"stderr"}`} {
		checkAnswers(t, "%s", "full allowed 2026-01-02T03:04:05Z 1", map[string]string{
			`{"message":` + quoted(text) + `,` + beside + `}`: "", `{` + beside + `,"a":{"@message":` + quoted(text) + `}}`: "", `{"n":1,"log":` + quoted(`{"line":`+quoted(text)+`,"fields":{`+beside+`}}`) + `}`: "",
			`[{` + values(text) + `,"stream":{"app":"opa",` + beside + `}}]`: "", `{"stream":{` + beside + `},` + values(text) + `}`: "",
			`{"hits":{"hits":[{"a":1},{"_source":{"note":"{ \"a\": ",` + beside + `,"b":{"body":` + quoted(text) + `}}}]}}`: "",
		})
	}
	noID, others := strings.Replace(full, `"decision_id":"d"`, `"labels":{}`, 1), ""
	for i := range mostKeys {
		others += fmt.Sprintf(`"a":{"decision_id":"%d","path":"p","metrics":{}},`, i)
	}
	checkAnswers(t, "%s", "%s", map[string]string{
		`{"a":` + noID + `,"b":` + quoted(noID) + `}`: "full allowed 1", `{"a":` + noID + `,"b":` + strings.Replace(noID, ":1}", ":7}", 1) + `}`: "full allowed 1; full allowed 7",
		`{"log":"x","log":` + quoted(full) + `}`: "full allowed 1", `{` + others + `"a":` + full + `,"b":` + full + `}`: strings.Repeat("p undefined; ", mostKeys) + "full allowed 1",
		`{"a":` + poor + `,"b":` + full + `}`: "full allowed 1", `{"b":` + full + `,"a":` + poor + `}`: "full allowed 1",
		`{"a":` + poor + `,"b":` + quoted(event("full", "")) + `}`:                                                        "full undefined; no_metrics at 1", // a tie
		`{"b":` + quoted(event("full", "")) + `,"a":` + poor + `}`:                                                        "full undefined; no_metrics at 1",
		`{"a":` + event("poor", `,"metrics.timer_a_ns":1`) + `,"b":` + event("full", `,"metrics":{"timer_a_ns":1}`) + `}`: "full undefined 1",
		`[` + full + `,` + full + `]`:                                                                                     "full allowed 1; full allowed 1", `{"a":[` + full + `,` + full + `]}`: "full allowed 1; full allowed 1",
		`{"a":` + poor + `,"rows":[` + full + `,` + quoted(full) + `]}`:           "full allowed 1; full allowed 1", // one of them is a
		`{"a":[` + poor + `],"b":[` + full + `]}`:                                 "full allowed 1",
		`[1,` + quoted("[pod/opa-6f/opa] "+full) + `]`:                            "full allowed 1",
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
	const outcomes, evil = "p allowed 5", `{"decision_id":"e","path":"evil","metrics":{}}`
	checkAnswers(t, `{"decision_id":"d","path":"p",%s}`, "%s", map[string]string{
		`"result":true,"metrics.timer_a_ns":5`: outcomes, `"result":"true","metrics_timer_a_ns":"5"`: outcomes, `"result.allow":true,"metrics.timer_a_ns":5`: outcomes,
		`"result_allow":"true","metrics.timer_a_ns":5,"metrics.counter_b":null,"metrics.counter_c":""`: outcomes, `"result.response.allowed":true,"metrics":{"timer_a_ns":5}`: outcomes, `"result.response.allowed":true,"result.response.uid":"x","metrics":{"timer_a_ns":5}`: outcomes,
		`"result":"true","metrics":"{\"timer_a_ns\":5}"`: outcomes, `"result":"{\"allow\":true}","labels":"{}","metrics_timer_a_ns":5`: outcomes, `"result":true,"result_code":0,"metrics.timer_a_ns":5`: outcomes,
		`"error.code":"eval_conflict_error","metrics.timer_a_ns":5`: "p error 5", `"error_message":"","result":"false","metrics.timer_a_ns":5`: "p denied 5", `"error":"","result":"false","metrics.timer_a_ns":5`: "p denied 5",
		`"result":"yes","metrics.timer_a_ns":5`: "p result 5", `"erased":"[\"/result\"]","result":"true","metrics.timer_a_ns":5`: "p hidden 5", `"result":"true","labels":"{"`: "p allowed; no_metrics at 1",
		`"result__allow":true,"metrics__timer_a_ns":5`: outcomes, `"result/allow":true,"metrics/timer_a_ns":5`: outcomes, `"result:allow":true,"metrics:timer_a_ns":5`: outcomes,
		`"result":true,"timer_a_ns":"5"`: outcomes, `"result":"true","metrics":[{"key":"timer_a_ns","value":"5"}]`: outcomes, `"result":"true","metrics":[{"key":"timer_a_ns"}]`: "p allowed; no_metrics at 1",
		// Underscores, Splunk's lists, and the lists in Elasticsearch's "fields".
		`"result_score":7,"metrics_timer_a_ns":5`: "p result 5", `"result_code":7,"metrics":{"timer_a_ns":5}`: "p undefined 5",
		`"result.deny{}":"no","metrics.timer_a_ns":"5"`: "p denied 5", `"result.deny{}":["no","not"],"metrics.timer_a_ns":"5"`: "p denied 5",
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
		`{"decision_id":"d","path":"p","metrics":{},"result.allow":true,"error.code":null}`:                                       "p allowed",
		`{"opa.input.decision_id":"e","opa.input.path":"evil","opa.decision_id":"d","opa.path":"p","opa.metrics.timer_a_ns":5}`:   "p undefined 5",
		`{"@decision_id":"d","@path":"p","@input.decision_id":"e","@input.path":"evil","@metrics.timer_a_ns":5}`:                  "p undefined 5",
		`{"fields":{"decision_id":["d"],"path":["p"],"result":[true],"metrics.timer_a_ns":[5],"input.x":[` + quoted(evil) + `]}}`: "p allowed 5",
		`{"fields":{"decision_id":["d"],"path":["p"],"erased":["/result"],"metrics.timer_a_ns":[5]}}`:                             "p hidden 5",
		`{"fields":{"decision_id":["d"],"path":["p/deny"],"result":["no"],"metrics.timer_a_ns":[5]}}`:                             "p/deny denied 5",
		`{"decision_id":"d","path":"p/deny","metrics.timer_a_ns":5}`:                                                              "p/deny hidden 5", `{"decision_id":"d","path":"p/deny","metrics":"{}"}`: "p/deny undefined",
		`{"fields":{"decision_id":["d","e"],"path":["p"],"metrics.timer_a_ns":[5]}}`:                                      "",
		`{"input.x":` + quoted(evil) + `,"log_input_x":[` + quoted(evil) + `],"result.x":` + quoted(evil) + `,"log":"x"}`: "",
		`{"DECISION_ID":"d","PATH":"p","RESULT":true,"METRICS":{"timer_a_ns":5},"INPUT":{"x":` + quoted(evil) + `}}`:      "p allowed 5",
		`{"opa.input.decision_id":"e","opa.input.path":"evil"}`:                                                           "", `{"input.decision_id":"e","input.path":"evil"}`: "",
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
	const timed = " 2026-01-02T03:04:05Z"
	full := `{"decision_id":"d","path":"full","result":true,"metrics":{"timer_a_ns":5}}`
	for text, want := range map[string]string{
		"decision_id,path,result,metrics.timer_a_ns\nd,p,true,5\ne,p,t,\n":                                                              "p allowed 5; p allowed; no_metrics at 3",
		"\xef\xbb\xbf\"decision_id\";\"path\";\"result\";\"metrics\"\r\nd;p;f;\"{\"\"timer_a_ns\"\":5}\"\r\n":                           "p denied 5",
		"_time\tlog.decision_id\tlog.path\tlog.result\tlog.metrics.timer_a_ns\n2026-01-02 03:04:05Z\td\tp\t\"{\"\"allow\"\":true}\"\t5": "p allowed" + timed + " 5; wrapper_time at 2",
		"path,metrics,labels\np,\"{\n\"\"timer_a_ns\"\":5}\",{}\n\np,{},{}\n":                                                           "p hidden 5; p hidden",
		"id,message,decision_id,path\n1,\"" + strings.ReplaceAll(full, `"`, `""`) + "\",d,p\n":                                          "full allowed 5",
		"path,decision_id\n" + full + "\n{\n\"decision_id\":\"d\",\"path\":\"lines\"}\np,d\n":                                           "full allowed 5; lines undefined; p hidden; no_metrics at 3; no_metrics at 5",
		"path,decision_id\n[p,d\n\"{p\",d\n\"p\",d\n":                                                                                   "[p hidden; {p hidden; p hidden; no_metrics at 2; no_metrics at 3; no_metrics at 4",
		"decision_id,path,input\nd,p,\"" + strings.ReplaceAll(full, `"`, `""`) + "\"\ne,\"p\nf,q,\n":                                    "p hidden; q hidden; invalid_json at 3; no_metrics at 2; no_metrics at 4",
		"decision_id,path,result,error,metrics,req_id\nd,p,True,NULL,{},1\ne,-,\\N,null,{},2\nNULL,NULL,true,,{},3\n":                   "p allowed; (data) undefined; unknown_form at 4",
		"path,result,metrics,labels\n<null>,f,{},{}\nNULL,t,{},{}\nNULL,,{},{}\nNaN,\\N,{},{}\nnil,nil,{},{}\n":                         "(data) denied; (data) allowed; NULL hidden; NaN hidden; (data) hidden", // of a client
		"opa.decision_id,opa.path,opa.error,opa.result,opa.metrics\nd,None,None,True,{}\n":                                              "(data) allowed",
		"decision_id,path,error,result.allow,metrics\nd,p,#N/A,True,{}\ne,q,nan,False,{}\n":                                             "p allowed; q denied",
		"opa-1  | path,decision_id,metrics\nopa-1  | p,d,{}\nopa-1  | q,e,{}\n":                                                         "unknown_form at 2; unknown_form at 3",
		// What is cut tells nothing, and neither does a column that is not there.
		"id,log.decision_id,log.path,log.result\n1,d,p,\n1,d,p,\"{\"\"allow\"\": tr\"\n1,d,p,[tr\n1,d,p,tr\n":                   "p hidden; p hidden; p hidden; p result; no_metrics at 2; no_metrics at 3; no_metrics at 4; no_metrics at 5",
		"decision_id,path\nd,p\npath,decision_id\nq,e\n":                                                                        "p hidden; q hidden; no_metrics at 2; no_metrics at 4", // joined files
		"x,\"{\"\"decision_id\"\":\"\"d\"\",\"\"path\"\":\"\"poor\"\"}\",y,\"" + strings.ReplaceAll(full, `"`, `""`) + "\",z\n": "full allowed 5",                                       // Grafana
		// Cells that are not in the columns show that nothing was quoted, or not all.
		"decision_id|path|result\nd|p|true\ne|x|false|true\nf|p|false||\ng|\"x|true\"\nh|p\n": "p allowed; p denied; p hidden; invalid_json at 3; invalid_json at 5; no_metrics at 2; no_metrics at 4; no_metrics at 6",
		" path  | decision_id | result\n p q   | d           | {\"allow\":true} ":             "p q allowed; no_metrics at 2",
		"opa.input.decision_id,opa.input.path\ne,evil\n":                                      "",
		// Snowflake, Athena, DuckDB, and a cell of many lines.
		"decision_id,path,result,error,metrics\nd,p,[NULL],[NULL],{}\n":                                                               "p undefined",
		"\"DECISION_ID\",\"PATH\",\"RESULT\",\"TIMER_A_NS\"\n\"d\",\"p\",\"true\",\"5\"\n":                                            "p allowed 5",
		"decision_id,path,result,metrics,labels\nd,p,{allow=true},\"{timer_a_ns=5, timer_b_ns=6}\",{id=x}\n":                          "p allowed 5 6",
		"decision_id,path,result,metrics\nd,p,\"{'allow': false, 'x': y}\",{'timer_a_ns': 5}\ne,p,true,\"{timer_a_ns=5, b={c=1}}\"\n": "p denied 5; p allowed; no_metrics at 3",
		"time,event\n1,2\n" + full + "\n3\nopa | " + full + "\n4,5\n":                                                                 "full allowed 5; full allowed 5",
		// These are no tables.
		"@timestamp,path,decision_id,metrics.timer_a_ns\n\"Jan 2, 2026 @ 03:04:05.000\",p,d,\"1,234,567\"\n": "p hidden" + timed + " 1234567; no_zone at 2; wrapper_time at 2", // Kibana
		"[\"decision_id\",\"path\",\"metrics\"]\n[\"d\",\"p\",{\"timer_a_ns\":1}]\n":                         "unknown_form at 2",
		"x\ndecision_id,path\nd,p\n": "", "time,message\n1,\"" + strings.ReplaceAll(full, `"`, `""`) + "\"\n": "full allowed 5",
	} {
		if got := answer(text); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
		readEveryWay(t, text)
		checkBoundary(t, text)
	}
}

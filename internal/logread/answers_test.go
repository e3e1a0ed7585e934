// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// answer returns what a reader says of a log: for each event its path, its
// outcome, its time and a timer, as far as it has them, and then the problems.
func answer(text string) string {
	all, got := []string{}, readAll(text)
	for _, e := range got.Events {
		words := e.Path + " " + e.Outcome.String()
		if e.Code == hidden {
			words = e.Path + " " + hidden
		}
		if e.Time != NoTime {
			words += time.Unix(0, e.Time).UTC().Format(" " + time.RFC3339Nano)
		}
		for _, value := range slices.Sorted(maps.Values(e.Measures)) {
			words += fmt.Sprint(" ", value)
		}
		all = append(all, words)
	}
	return strings.Join(append(all, got.Problems...), "; ")
}

// checkAnswers checks the answers to logs. Both are put into formats. What is
// before a log makes no difference.
func checkAnswers(t *testing.T, format, wantFormat string, answers map[string]string) {
	t.Helper()
	for log, want := range answers {
		log, want = strings.Replace(format, "%s", log, 1), strings.Replace(wantFormat, "%s", want, 1)
		if got := answer(log); got != want {
			t.Errorf("%s\n got %s\nwant %s", log, got, want)
		}
		for _, before := range []string{docker(event1), pretty(event1) + "\n"} {
			got, first, alone := readAll(before+log), readAll(before), readAll(log)
			if got = (result{Events: got.Events[len(first.Events):], Problems: kinds(got.Problems)}); !reflect.DeepEqual(strip(got.Events), strip(alone.Events)) || !slices.Equal(got.Problems, kinds(alone.Problems)) {
				t.Errorf("%s behind %.20q: %+v, want %+v", log, before, got, alone)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const bad, negative, badTime = "; bad_metric at 1", "; negative_metric at 1", "; bad_timestamp at 1"
	checkAnswers(t, `{"decision_id":"d","path":"p","metrics":{"timer_a_ns":%s}}`, "p undefined%s", map[string]string{
		`5`: " 5", `"65750"`: " 65750", `65750.0`: " 65750", `1e6`: " 1000000", `"1.5e1"`: " 15", `{"$numberLong":"1"}`: " 1", `{ "$numberInt" : "7" }`: " 7", `-0`: " 0", `"0"`: " 0",
		`{"$numberDouble":"3.0"}`: " 3", `"9223372036854775807"`: " 9223372036854775807", `9007199254740991.0`: " 9007199254740991", `0.00e5`: " 0", `null`: "",
		`9007199254740992.0`: bad, `9007199254740993.0`: bad, `4503599627370497.5`: bad, `1.00000000000000000001`: bad, `1e-999`: bad, "1." + strings.Repeat("0", 99): bad, `1e99`: bad, `0e9999`: bad, `"9223372036854775808"`: bad,
		`1.5`: bad, `"1.5"`: bad, `""`: bad, `" 1"`: bad, `"1.5e1 "`: bad, `"007"`: bad, `"0x10"`: bad, `"+1"`: bad, `"null"`: bad, `true`: bad, `[1]`: bad, `{}`: bad, `{"a":1}`: bad,
		`{"$numberLong":[1]}`: bad, `"1ms"`: bad, `"\"1\""`: bad, `-1`: negative, `"-1"`: negative, `-1e3`: negative, `{"$numberLong":"-1"}`: negative,
	})
	// A store that writes numbers as strings does so with all that is no string.
	checkAnswers(t, `{"decision_id":"d","path":"p","result":%s}}`, "p %s 7", map[string]string{
		`"true","metrics":{"timer_a_ns":"7"`: "allowed", `"false","metrics":{"counter_a":"7"`: "denied", `"{\"allow\":true}","metrics":{"timer_a_ns":"7"`: "allowed",
		`"","metrics":{"timer_a_ns":"7"`: "undefined", `"no","metrics":{"timer_a_ns":"7"`: "result", `"true","metrics":{"timer_a_ns":7`: "result", `"true","metrics":{"x":"7","timer_a_ns":7`: "result",
	})
	const usual, noZone = " 2026-01-02T03:04:05.5Z", " 2026-01-02T03:04:05.5Z; no_zone at 1"
	checkAnswers(t, `{"decision_id":"d","path":"p","metrics":{},"timestamp":%s}`, "p undefined%s", map[string]string{
		`"2026-01-02T03:04:05.5Z"`: usual, `"2026-01-02 03:04:05.5+00"`: usual, `"2026-01-02T04:04:05.5\u002b01:00"`: usual, `{"$date":"2026-01-02T03:04:05.500Z"}`: usual,
		`1767323045.5`: usual, `1767323045500`: usual, `1767323045500000`: usual, `1767323045500000000`: usual, `"1767323045500"`: usual, `"1767323045.5"`: usual, `1.7673230455E9`: usual,
		`1.7673230455e+18`: usual, `{"$date":1767323045500}`: usual, `{"$date":{"$numberLong":"1767323045500"}}`: usual, `{"$numberLong":"1767323045500"}`: usual,
		`"2026-01-02T03:04:05.5"`: noZone, `{"$date":"2026-01-02 03:04:05,5"}`: noZone,
		`"yesterday"`: badTime, `"1767323045\n"`: badTime, `""`: badTime, `0`: badTime, `-1767323045`: badTime, `1e400`: badTime, `true`: badTime, `{}`: badTime, `["2026-01-02T03:04:05Z"]`: badTime,
		// The ends of the units, within the years that are known.
		"99999999": badTime, "100000000": " 1973-03-03T09:46:40Z", "9214646399": " 2261-12-31T23:59:59Z", "9214646400": badTime, "99999999999": badTime,
		"100000000000": " 1973-03-03T09:46:40Z", "9214646399999": " 2261-12-31T23:59:59.999Z", "99999999999999": badTime, "100000000000000": " 1973-03-03T09:46:40Z",
		"99999999999999999": badTime, "100000000000000000": " 1973-03-03T09:46:40Z", "9214646399999999999": " 2261-12-31T23:59:59.999999999Z", "9214646400000000000": badTime,
	})
	// A query that is one plain reference is the path of an Envoy, unless a
	// client may have asked it.
	checkAnswers(t, `{"decision_id":"d","query":"data.%s,"metrics":{}}`, "%s", map[string]string{
		`envoy.authz.allow","result":true`: "envoy/authz/allow allowed", `authz","result":{"allowed":false}`: "authz denied", `a.deny","result":{"no":true}`: "a/deny denied",
		`a[\"b-c\"].d_1","result":true`: "a/b-c/d_1 allowed", `a","path":"","result":true`: "a allowed", `a","path":"p","result":true`: "p allowed",
		`a","result":true,"masked":["/input/a","/result/headers"]`: "a allowed", `a","result":true,"custom":{"a":"type"}`: "a allowed",
		// Clients can ask these.
		`a","result":[{"x":1}]`: "(query) result", `a","result":[]`: "(query) undefined", `a","result":null`: "(query) undefined", `a"`: "(query) undefined",
		`a","error":{"code":"internal_error"}`: "(query) error", `a","result":"***","masked":["/result"]`: "(query) hidden", `a","result":"***","erased":["\/result"]`: "(query) hidden",
		`a","result":{"query":[]},"custom":{"type":"open-policy-agent/compile"}`: "(query) result", // POST /v1/compile/
		// These are no plain references.
		`a[i]","result":true`: "(query) allowed", `a; true","result":true`: "(query) allowed", `","result":true`: "(query) allowed", `a..b","result":true`: "(query) allowed",
		`1","result":true`: "(query) allowed", `a[\"b/c\"]","result":true`: "(query) allowed", `a[\"b.c\"]","result":true`: "(query) allowed", `a[\"\"]","result":true`: "(query) allowed",
	})
	checkAnswers(t, `{"decision_id":"d","query":"%s","result":true,"metrics":{}}`, "(query) allowed", map[string]string{"data": "", "database.a": "", "input.a": "", "x = data.a": ""})
	checkAnswers(t, "%s", "%s", seedLines)
	// What is an event, and which outcome it has.
	const cut = `{"msg":"Decision Log","path":"p","metrics":{"timer_a_ns":1}}`
	checkAnswers(t, "%s", "%s", map[string]string{
		`x [INFO] {"decisi\u006fn_id":"d","path":"p","metrics":{}}`: "", `{"decision_id":"d","result":true,"metrics":{"timer_a_ns":1}}`: "", `{"decision_id":"d","result":null,"metrics":{},"provenance":{},"warning":{}}`: "", // answers of OPA's API
		`{"decision_id":"d","path":"p","metrics":{"timer_a_ns":007}}`: "invalid_json at 1", `{"decision_id":"d","metrics":{"timer_a_ns":1},"provenance":{}}`: "", `{"decision_id":"d","metrics":{},"requested_by":"x"}`: "(data) undefined", `{"decision_id":"d","result":true}`: "",
		`{"response":{"decision_id":"d","result":true,"metrics":{}},"time":1767323045}`: "", `{"decision_id":"d","result":true,"metrics":{},"labels":{}}`: "(data) allowed",
		`{"decision_id":"d","result":true,"metrics":{},"timestamp":"2026-01-02T03:04:05Z","input":{}}`: "", `{"decision_id":["d"],"path":["p"],"fields":{}}`: "", `{"decision_id":["d","e"],"path":["p"]}`: "",
		`{"decision_id":"d","query":"data.a","result":true,"metrics":{}}` + "\n" + `{"decision_id":"e","query":"data.b","result":true,"metrics":{}}`: "a allowed; b allowed",
		`{"decision_id":"d","result":null,"metrics":{},"input":{}}`:                                                                                  "", `{"decision_id":"d","path":"//","metrics":{}}`: "(data) undefined", `{"decision_id":"d","path":"\ud800x\ud83d\ude00","metrics":{}}`: "\ufffdx\U0001f600 undefined",
		cut: "p undefined 1", `{"log":` + quoted(cut) + `}`: "p undefined 1", `{"level":"info","msg":"x","text":` + quoted(cut) + `}`: "logged_event at 1",
		`{"msg":"Decision Log","query":"x","metrics":{}}`: "(query) undefined", `{"msg":"Decision Log","path":"p"}`: "",
		`{"path":` + quoted(cut) + `,"opa.path":` + quoted(cut) + `,"path_s":` + quoted(cut) + `,"Input":` + cut + `,"user_agent":` + quoted(cut) + `,"http_referrer":` + quoted(cut) + `,"error":[` + cut + `],"metrics":{}}`: "", // which clients write
		`{"msg":"Status Log","path":"p","metrics":{}}`: "", `{"msg":"Decision Log","metrics":{}}`: "", `{"path":"p","metrics":{}}`: "", `{"labels":{}}`: "", `{"path":null,"metrics":{},"labels":{}}`: "(data) undefined", `{"decision_id":{"S":"d"},"path":{"S":"p"},"labels":{"M":{}}}`: "", `{"decision_id":"d","path":"a/deny","result":null,"metrics":{}}`: "a/deny undefined",
	})
	checkAnswers(t, `{"decision_id":"d","path":"p","result":true,"metrics":{},"error":%s}`, "p %s", map[string]string{
		`""`: "allowed", `null`: "allowed", `{}`: "allowed", `{"code":"","message":null}`: "allowed", `"x"`: "error", `[]`: "error", `{"a":0}`: "error", `" "`: "error",
	})
}

// An event without a valid timestamp has the time of what is around it, the
// innermost first.
func TestTimeFromOutside(t *testing.T) {
	t.Parallel()
	const at, event, console = "2026-01-02T03:04:05Z", `{"decision_id":"d","path":"p","metrics":{}}`, `{"decision_id":"d","msg":"Decision Log","path":"p","metrics":{},"timestamp":"","time":"AT"}`
	words := strings.NewReplacer("CONSOLE", strings.Replace(console, "AT", at, 1), "AT", at, "EARLY", "2026-01-02T03:04:03Z", "EVENT", event, "QUOTED", quoted(event))
	for want, logs := range map[string][]string{
		" " + at + "; line_time at 1": {"CONSOLE", `{"log":"x","event":CONSOLE,"time":"EARLY"}`},
		" " + at + "; wrapper_time at 1": {
			`{"decision_id":"d","path":"p","metrics":{},"time":"AT"}`, `{"decision_id":"d","path":"p","metrics":{},"timestamp":null,"@timestamp":"AT"}`, // no line of OPA
			`{"log":QUOTED,"stream":"stderr","time":"AT"}`, `{"time":"EARLY","a":{"message":QUOTED,"@timestamp":"AT"}}`, `{"line":QUOTED,"timestamp":"AT"}`,
			`{"@timestamp":"AT","a":{"message":QUOTED,"time":"never"}}`, `{"@timestamp":"AT","time":"EARLY","event":EVENT}`, `{"event":EVENT,"time":1767323045.0}`,
			`{"MESSAGE":QUOTED,"__REALTIME_TIMESTAMP":"1767323045000000"}`, `{"body":{"stringValue":QUOTED},"timeUnixNano":"1767323045000000000"}`,
			`{"resultType":"streams","result":[{"stream":{},"values":[["1767323045000000000",QUOTED]]}]}`, "AT stderr F EVENT", "opa-1  | AT EVENT",
			"2026-01-02T03:04:05+0000 host opa[7]: EVENT", "EARLY stdout P {\nAT stdout F " + event[1:],
		},
		" " + at + "; no_zone at 1; wrapper_time at 1": {`{"time":"2026-01-02 03:04:05","log":QUOTED}`},
		// The other times are another's, or of no known prefix.
		"": {"EVENT", "2026-01-02T03:04:05.678 EVENT", "1767323045.0000000000 EVENT",
			`{"time":"AT","log":"x"}` + "\nEVENT", `[{"time":"AT","log":"x"},{"log":QUOTED}]`, `{"a":{"time":"AT","log":"{}"},"log":QUOTED}`},
	} {
		for _, log := range logs {
			checkAnswers(t, words.Replace(log), "p undefined"+want, map[string]string{"": ""})
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/outcome"
)

// modelMember is a key of an object, and a value.
type modelMember struct {
	key   string
	value json.RawMessage
}

// parseObject parses an object by encoding/json, or returns nil.
func parseObject(text []byte) (members []modelMember) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		m := modelMember{key: must(d.Token()).(string)}
		must(0, d.Decode(&m.value))
		members = append(members, m)
	}
	return members
}

// model is what a reader should say of a line that is one JSON object, and
// whether that object is an event. It is written for clarity.
func model(text []byte) (e read, problems []string, isEvent bool) {
	found := func(kind Problem) { problems = append(problems, string(kind)) }
	fields := map[string]json.RawMessage{}
	for _, m := range parseObject(text) {
		if _, ok := fields[m.key]; ok && fieldOf([]byte(m.key)) < fieldData {
			found(DuplicateKey)
		}
		if fieldOf([]byte(m.key)) == fieldStamp {
			m.key = "@timestamp"
		}
		fields[m.key] = m.value
	}
	for key, value := range fields {
		if key != "result" && string(value) == "null" {
			delete(fields, key)
		}
	}
	has := func(key string) bool { return fields[key] != nil }
	str := func(key string) (s string) {
		if json.Unmarshal(fields[key], &s) != nil {
			return ""
		}
		return s
	}
	if msg := fields["msg"]; msg != nil && str("msg") != "Decision Log" {
		return e, nil, false
	}
	target := has("path") || has("query")
	if !(has("decision_id") && (target || has("labels") || has("metrics"))) && !((has("labels") || has("msg")) && has("metrics") && target) {
		return e, nil, false
	}
	others := slices.ContainsFunc(slices.Collect(maps.Keys(fields)), func(key string) bool {
		return fieldOf([]byte(key)) < fieldData && key != "decision_id" && key != "metrics"
	})
	isAnswer := !target && !has("labels") && has("metrics") && (has("result") || !others) // of OPA's API
	if isAnswer || has("decision_id") && fields["decision_id"][0] == '[' {
		return e, nil, false
	}
	e.Line, e.Measures = 1, map[string]int64{}
	e.Path = strings.TrimPrefix(str("path"), "/")
	query := str("query")
	if strings.Trim(e.Path, "/") == "" {
		e.Path = "(data)"
		if path := modelReference(query, fields); path != "" {
			e.Path, query = path, ""
		} else if query != "" {
			e.Path = outcome.Query
		}
	}
	e.Time = NoTime
	for _, key := range []string{"timestamp", "time", "@timestamp"} {
		if ns, hasZone, ok := modelTime(modelText(fields[key])); ok && e.Time == NoTime {
			e.Time = ns
			if !hasZone {
				found(NoZone)
			}
			if key == "time" && has("msg") {
				found(LineTime)
			} else if key != "timestamp" {
				found(WrapperTime)
			}
		}
	}
	if e.Time == NoTime && has("timestamp") {
		found(BadTime)
	}
	for _, m := range parseObject(fields["metrics"]) {
		if _, ok := modelInteger(modelText(m.value)); modelCounts(m.key) && ok && m.value[0] == '"' && has("result") {
			if fields["result"] = jsonOf(fieldResult, fields["result"]); fields["result"] == nil {
				fields["result"] = json.RawMessage("null")
			}
		}
	}
	e.Outcome, e.Code = modelOutcome(nil, fields, e.Path, query)
	e.ID, e.By, e.Revision, e.Trace, e.Span = str("decision_id"), str("requested_by"), str("revision"), str("trace_id"), str("span_id")
	e.Request, _ = strconv.ParseUint(string(fields["req_id"]), 10, 64)
	if labels := fields["rule_labels"]; labels != nil && labels[0] == '[' {
		e.RuleLabels = compact(labels)
	}
	object := func(key string) string {
		if has(key) && fields[key][0] == '{' {
			return compact(fields[key])
		}
		return ""
	}
	e.Labels, e.Bundles = object("labels"), object("bundles")
	e.HasMetrics = object("metrics") != ""
	if !e.HasMetrics {
		found(NoMetrics)
		return e, problems, true
	}
	seen := map[string]bool{}
	for _, m := range parseObject(fields["metrics"]) {
		switch {
		case !modelCounts(m.key):
			continue
		case len(m.key) > longestMetric:
			found(BadMetric)
			continue
		case seen[m.key]:
			found(DuplicateKey)
		}
		seen[m.key] = true
		delete(e.Measures, m.key)
		switch n, ok := modelInteger(modelText(m.value)); {
		case string(m.value) == "null":
		case !ok:
			found(BadMetric)
		case n < 0:
			found(NegativeMetric)
		default:
			e.Measures[m.key] = n
		}
	}
	return e, problems, true
}

// kinds returns the kinds of problems, sorted.
func kinds(problems []string) (kinds []string) {
	for _, p := range problems {
		kind, _, _ := strings.Cut(p, " at ")
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func modelCounts(key string) bool {
	return strings.HasPrefix(key, "counter_") || len(key) > 9 && strings.HasPrefix(key, "timer_") && strings.HasSuffix(key, "_ns")
}

// modelText returns the text of a number or a time, whatever is around it.
func modelText(value json.RawMessage) (text string) {
	for range 2 {
		for _, m := range parseObject(value) {
			if strings.HasPrefix(m.key, "$number") || m.key == "$date" {
				value = m.value
			}
		}
	}
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// modelNumber returns the number in a text, or nil.
func modelNumber(text string) *big.Rat {
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if n, err := strconv.Atoi(cmp.Or(exponent, "0")); err != nil || n > 1023 || n < -1024 || !json.Valid([]byte(text+"\n")) || strings.ContainsAny(text, " \t\n\r") {
		return nil
	}
	n, _ := new(big.Rat).SetString(text)
	return n
}

func modelInteger(text string) (int64, bool) {
	n := modelNumber(text)
	if n == nil || !n.IsInt() || !n.Num().IsInt64() {
		return 0, false
	}
	i := n.Num().Int64()
	return i, !strings.ContainsAny(text, ".eE") || i < 1<<53 && i > -1<<53
}

var referenceForm = regexp.MustCompile(`^data(\.[A-Za-z_][A-Za-z0-9_]*|\["[^]"\\/.[]+"\])+$`)

// modelReference returns the path of a query that is one plain reference, or "".
func modelReference(query string, fields map[string]json.RawMessage) (path string) {
	var erased, masked []any
	_, _ = json.Unmarshal(fields["erased"], &erased), json.Unmarshal(fields["masked"], &masked)
	typed := slices.ContainsFunc(parseObject(fields["custom"]), func(m modelMember) bool { return m.key == "type" })
	result := cmp.Or(string(fields["result"]), "null")
	if strings.IndexByte("tf{", result[0]) < 0 || slices.Contains(append(erased, masked...), any("/result")) || typed || !referenceForm.MatchString(query) {
		return ""
	}
	return strings.Join(strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune(`.[]"`, r) })[1:], "/")
}

func modelOutcome(verdicts *outcome.Verdicts, fields map[string]json.RawMessage, path, query string) (outcome.Outcome, string) {
	isNone := func(m modelMember) bool { return string(m.value) == "null" || string(m.value) == `""` }
	text := fields["error"]
	if text != nil && string(text) != `""` && (text[0] != '{' || slices.ContainsFunc(parseObject(text), func(m modelMember) bool { return !isNone(m) })) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return outcome.Error, "out of range"
		}
		for range 3 {
			if list, ok := v.([]any); ok && len(list) > 0 {
				v = list[0]
			}
		}
		object, _ := v.(map[string]any)
		code, _ := object["code"].(string)
		message, _ := object["message"].(string)
		code = knownCode(code)
		if text, ok := v.(string); ok {
			code, message = codeOf(text), text
		}
		switch failed := outcome.OfError(code); {
		case code == "":
			return outcome.OfMessage(message), ""
		case failed != outcome.Error:
			return failed, ""
		}
		return outcome.Error, code
	}
	if query != "" {
		path = outcome.Query
	}
	verdict := verdicts.Of(path)
	for _, key := range []string{"erased", "masked"} {
		var paths []any
		_ = json.Unmarshal(fields[key], &paths) // no array, or none there, has none
		for _, path := range paths {
			if path, ok := path.(string); ok && verdict.IsHiddenBy(path) {
				return outcome.OtherResult, hidden
			}
		}
	}
	if fields["result"] == nil || string(fields["result"]) == "null" {
		return outcome.Undefined, ""
	}
	var result any
	d := json.NewDecoder(bytes.NewReader(fields["result"]))
	d.UseNumber()
	if d.Decode(&result) != nil {
		return outcome.Undefined, "out of range"
	}
	if query != "" {
		return outcome.OfQuery(result), ""
	}
	return verdict.Outcome(result), ""
}

// checkLine compares what readers say of a line with what the model does.
func checkLine(t *testing.T, line []byte) {
	t.Helper()
	trimmed := bytes.Trim(line, " \t\r")
	if !json.Valid(trimmed) || len(trimmed) == 0 || trimmed[0] != '{' || bytes.IndexByte(trimmed, '\n') >= 0 {
		return
	}
	for _, m := range parseObject(trimmed) {
		f := fieldOf([]byte(m.key))
		isFlat := f == fieldFlat || (f == fieldMetrics || f == fieldLabels) && m.value[0] == '"'
		if isFlat || f >= fieldNone && (bytes.Contains(m.value, []byte("decision_id")) || bytes.Contains(m.value, []byte(`\u`))) {
			return // the model knows no flattened events, and no copies
		}
	}
	want, problems, isEvent := model(trimmed)
	if !isEvent && bytes.Count(trimmed, []byte{'{'}) > 1 { // it may be a wrapper of one
		return
	}
	for _, before := range []string{"", event1 + "\n", docker(event1), pretty(event1) + "\n"} {
		got := readAll(before + string(line) + "\n")
		prior := readAll(before)
		got.Events = got.Events[len(prior.Events):]
		want.Line = prior.Lines + 1
		if isEvent != (len(got.Events) == 1) || isEvent && !reflect.DeepEqual(got.Events[0], want) {
			t.Fatalf("%q behind %.20q\n got %+v\nwant %+v", line, before, got.Events, want)
		}
		// What is not UTF-8 is replaced, which can be seen only where it is
		// used.
		if got := kinds(got.Problems); isEvent && utf8.Valid(trimmed) && !slices.Equal(got, kinds(problems)) {
			t.Fatalf("%q\nproblems %q, want %q", line, got, problems)
		}
	}
}

var seedLines = []string{
	event1, event2, event3, event4, console(event1),
	`{"decision_id":"a"}`, `{"decision_id":"a","path":"p"}`, `{"decision_id":null,"labels":{},"path":"x"}`, `{"decision_id":5,"labels":null,"metrics":null}`,
	`{"decision_id":"a","decision_id":"b","path":"p","metrics":{"timer_a_ns":1,"timer_a_ns":2},"metrics":{"timer_a_ns":3,"timer_a_ns":"x"}}`,
	`{"decision_id":"a","decision_id":"\u0062\n","path":"plain","path":"p\/q","query":"x","query":null,"requested_by":"long enough","requested_by":["x"],"metrics":{}}`,
	`{"decision_id":"a","path":"p","metrics":{"timer_a_ns":1e3,"timer_b_ns":12.0,"timer_c_ns":1.5,"timer_d_ns":"1","timer_e_ns":-1,"counter_f":9223372036854775808,"timer_ns":1,"x":2,"counter_g":9223372036854775807,"histogram_h":{"a":[1]},"timer_i_ns":1e400,"timer_l_ns":9007199254740992.0,"timer_m_ns":9007199254740991.0,"timer_j_ns":-0,"timer_k_ns":-0.0}}`,
	`{"\u0064ecision_id":"\u00e4\ud83d\ude00\ud800x","p\u0061th":"\/a\/\"b","timestamp":"2026-02-30T00:00:00Z","metrics":{"timer\u005fa_ns":1,"timer_a_ns":2}}`,
	`{"labels":{},"path":"//","query":"","msg":"Decision Log","result":null}`, `{"labels":{},"query":"x","result":null}`,
	`{"labels":{},"path":"x","msg":"Returning policy decision.","metrics":{"timer_x_ns":1}}`, `{"labels":{},"path":"x","msg":{}}`,
	`{"decision_id":"a","path":"p","result":{"allow":true,"deny":["x"],"a":{"deny":true}}}`, `{"decision_id":"a","path":"p","result":{"deny":"","allow":false,"allow":true}}`,
	`{"decision_id":"a","path":"p","result":{"d\u0065ny":{ },"x":1}}`, `{"decision_id":"a","path":"p","result":[ ] , "query" : "x" }`,
	`{"decision_id":"a","path":"p","result":true,"erased":["/input/x","/result\/allow"]}`, `{"decision_id":"a","path":"p","result":true,"masked":[1,null,"/result"],"error":null}`,
	`{"decision_id":"a","path":"p","error":"1 error occurred: policy.rego:3: eval_conflict_error: x"}`, `{"decision_id":"a","path":"p","error":[{"code":"rego_type_error"}]}`,
	`{"decision_id":"a","path":"p","error":{},"result":1}`, `{"decision_id":"a","path":"p","error":[],"timestamp":5}`, `{"decision_id":"a","path":"p","error":"x: context canceled"}`,
	`{"input":{"result":true},"requested_by":"x","decision_id":"a","path":"p"}`, `{"decision_id":"a","path":"p","input":{"a":1},"foo":5,"result":true,"requested_by":"x"}`,
	`{"decision_id":"a","path":"p","input":{"a":{"result":true}},"foo":"{","result":false,"timestamp":"2026-01-02t03:04:05z"}`,
	`{"msg":"Decision Log","time":1767323045.5,"query":"data.a[\"b-c\"].d_1","result":{"allowed":true},"timestamp":{"$date":{"$numberLong":"1767323045123"}},"metrics":{"timer_a_ns":{"$numberLong":"7"},"counter_b":"1e3"}}`,
	`{"log":"{\"decision_id\":\"a\",\"path\":\"p\"}"}`, `{"event":{"decision_id":"a","path":"p","event":{"decision_id":"b","path":"q"}}}`, `{}`, `{ "a" : [ ] }`,
	`{"path":"p","decision_id":"` + "\xff" + `","input":"` + "\xfe" + `"}`, `{"path":"p","decision_id":"` + "\x8a" + `","requested_by":"` + "\x8a" + `"}`,
}

// checkSpread is checkLine with and without white space between the tokens. No
// kind of processor makes a difference, nor what was read before.
func checkSpread(t *testing.T, line []byte, seed uint64) {
	t.Helper()
	wide := spread(rand.New(rand.NewPCG(seed, 1)), string(line))
	checkLine(t, line)
	checkLine(t, []byte(wide))
	readEveryWay(t, string(line)+"\n", wide+"\n")
}

// A reader says the same of a line as a full parser does.
func FuzzReader(f *testing.F) {
	for i := range uint64(8 * len(seedLines)) {
		f.Add([]byte(seedLines[i/8]), i)
	}
	f.Fuzz(checkSpread)
}

// A reader says the same of a text on all processors, whatever it has read
// before, however it is given the text, and of its parts before and behind a
// boundary.
func FuzzParts(f *testing.F) {
	for name, text := range events.containers() {
		if len(name)%2 == 0 {
			f.Add(text, uint64(len(name)))
		}
	}
	f.Add("{\"a\":[\n{\"decision_id\":\"x\"}\n{\"decision_id\":\"x\"}\n", uint64(1))
	// 00 is no number, whether its key is known from the lines before or not.
	f.Add("{\"decision_id\":0}\n{\"decision_id\":0,\"metrics\":{\"timer_a_ns\":0}}\n{\"decision_id\":0,\"metrics\":{\"timer_a_ns\":00}}0\n", uint64(2))
	// A key that is not UTF-8 is none of the fields, known or not.
	f.Add("{\"decision_id\":\"x\", \"input\": [tru],\t\"path\": \"p\"}\n", uint64(4))
	f.Add("[INFO] Decision Log\n  metrics = |\n      {\n", uint64(5)) // a short string is plain for all
	f.Add("{\"decision_id\":\"x\",\"res\xfft\":true,\"input\":\""+strings.Repeat("x", 4000)+"\"}\n", uint64(3))
	r := rand.New(rand.NewPCG(13, 14))
	for i := range uint64(8) {
		f.Add(strings.Repeat(usualEvent(r), 2)+usualEvent(r)+usualEvent(r), i)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		texts := []string{text, spread(rand.New(rand.NewPCG(seed, 2)), text)}
		for i, want := range readEveryWay(t, texts...) {
			text := texts[i]
			if want.Other > want.Lines*20 || int64(strings.Count(text, "\n")) > want.Lines || want.Lines > int64(strings.Count(text, "\n"))+1 {
				t.Fatalf("%d lines, %d others", want.Lines, want.Other)
			}
			for _, most := range []int{1, 50, 2000} {
				most = max(most, len(text)/500) // few parts take less time
				if got := readParts(text, randomParts(seed, most)); !reflect.DeepEqual(got, want) {
					t.Fatalf("%q in parts\n%+v\nwant\n%+v", text, got, want)
				}
			}
			checkBoundary(t, text)
		}
	})
}

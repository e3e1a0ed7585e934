// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// seedLines are lines with an event, or what looks like one, and the answers.
var seedLines = map[string]string{
	`{"decision_id":"a"}`: "", `{"decision_id":"a","path":"p"}`: "p undefined; no_metrics at 1", `{"decision_id":null,"labels":{},"path":"x"}`: "", `{"decision_id":5,"labels":null,"metrics":null}`: "",
	`{"decision_id":"a","decision_id":"b","path":"p","metrics":{"timer_a_ns":1,"timer_a_ns":2},"metrics":{"timer_a_ns":3,"timer_a_ns":"x"}}`: "p undefined 3; bad_metric at 1; duplicate_key at 1; duplicate_key at 1; duplicate_key at 1",
	`{"labels":{},"path":"//","query":"","msg":"Decision Log","result":null}`:                                                                "", `{"labels":{},"query":"x","result":null}`: "",
	`{"decision_id":"a","decision_id":"\u0062\n","path":"plain","path":"p\/q","query":"x","query":null,"requested_by":"long enough","requested_by":["x"],"metrics":{}}`: "p/q undefined; duplicate_key at 1; duplicate_key at 1; duplicate_key at 1; duplicate_key at 1",
	`{"labels":{},"path":"x","msg":"Returning policy decision.","metrics":{"timer_x_ns":1}}`:                                                                            "", `{"labels":{},"path":"x","msg":{}}`: "",
	`{"decision_id":"a","path":"p","metrics":{"timer_a_ns":1e3,"timer_b_ns":12.0,"timer_c_ns":1.5,"timer_d_ns":"1","timer_e_ns":-1,"counter_f":9223372036854775808,"timer_ns":1,"x":2,"counter_g":9223372036854775807,"histogram_h":{"a":[1]},"timer_i_ns":1e400,"timer_l_ns":9007199254740992.0,"timer_m_ns":9007199254740991.0,"timer_j_ns":-0,"timer_k_ns":-0.0}}`: "p undefined 0 0 1 12 1000 9007199254740991 9223372036854775807; bad_metric at 1; bad_metric at 1; bad_metric at 1; bad_metric at 1; negative_metric at 1",
	`{"decision_id":"a","path":"p","result":{"allow":true,"deny":["x"],"a":{"deny":true}}}`: "p denied; no_metrics at 1", `{"decision_id":"a","path":"p","result":{"deny":"","allow":false,"allow":true}}`: "p allowed; no_metrics at 1",
	`{"\u0064ecision_id":"\u00e4\ud83d\ude00\ud800x","p\u0061th":"\/a\/\"b","timestamp":"2026-02-30T00:00:00Z","metrics":{"timer\u005fa_ns":1,"timer_a_ns":2}}`: "a/\"b undefined 1; bad_timestamp at 1; duplicate_key at 1",
	`{"decision_id":"a","path":"p","result":{"d\u0065ny":{ },"x":1}}`:                                                                                           "p allowed; no_metrics at 1", `{"decision_id":"a","path":"p","result":[ ] , "query" : "x" }`: "p undefined; no_metrics at 1",
	`{"decision_id":"a","path":"p","input":{"a":{"result":true}},"foo":"{","result":false,"timestamp":"2026-01-02t03:04:05z"}`: "p denied; bad_timestamp at 1; no_metrics at 1",
	`{"decision_id":"a","path":"p","result":true,"erased":["/input/x","/result\/allow"]}`:                                      "p hidden; no_metrics at 1", `{"decision_id":"a","path":"p","result":true,"masked":[1,null,"/result"],"error":null}`: "p hidden; no_metrics at 1",
	`{"msg":"Decision Log","time":1767323045.5,"query":"data.a[\"b-c\"].d_1","result":{"allowed":true},"timestamp":{"$date":{"$numberLong":"1767323045123"}},"metrics":{"timer_a_ns":{"$numberLong":"7"},"counter_b":"1e3"}}`: "a/b-c/d_1 allowed 2026-01-02T03:04:05.123Z 7 1000",
	`{"decision_id":"a","path":"p","error":"1 error occurred: policy.rego:3: eval_conflict_error: x"}`:                                                                                                                        "p error; no_metrics at 1", `{"decision_id":"a","path":"p","error":[{"code":"rego_type_error"}]}`: "p undefined; no_metrics at 1",
	`{"decision_id":"a","path":"p","error":{},"result":1}`: "p result; no_metrics at 1", `{"decision_id":"a","path":"p","error":[],"timestamp":5}`: "p error; bad_timestamp at 1; no_metrics at 1", `{"decision_id":"a","path":"p","error":"x: context canceled"}`: "p cancelled; no_metrics at 1",
	`{"input":{"result":true},"requested_by":"x","decision_id":"a","path":"p"}`: "p undefined; no_metrics at 1", `{"decision_id":"a","path":"p","input":{"a":1},"foo":5,"result":true,"requested_by":"x"}`: "p allowed; no_metrics at 1",
	`{"log":"{\"decision_id\":\"a\",\"path\":\"p\"}"}`: "p undefined; no_metrics at 1", `{"event":{"decision_id":"a","path":"p","event":{"decision_id":"b","path":"q"}}}`: "p undefined; no_metrics at 1", `{}`: "", `{ "a" : [ ] }`: "",
	`{"path":"p","decision_id":"` + "\xff" + `","input":"` + "\xfe" + `"}`: "p undefined; invalid_utf8 at 1; no_metrics at 1", `{"path":"p","decision_id":"` + "\x8a" + `","requested_by":"` + "\x8a" + `"}`: "p undefined; invalid_utf8 at 1; no_metrics at 1",
}

// A reader says the same of a text on all processors, whatever it has read
// before, however it is given the text, and of its parts before and behind a
// boundary.
func FuzzParts(f *testing.F) {
	for name, text := range events.containers() {
		f.Add(text, uint64(len(name)))
	}
	for line := range seedLines {
		for seed := range uint64(2) {
			f.Add(line+"\n", seed)
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
			checkBoundary(t, text)
		}
	})
}

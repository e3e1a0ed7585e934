// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// usualEvent returns an event as OPA writes it, of which much is optional.
func usualEvent(r *rand.Rand) string {
	var b strings.Builder
	maybe := func(text string, values ...any) {
		if r.IntN(3) > 0 {
			fmt.Fprintf(&b, text, values...)
		}
	}
	word := func() string {
		var w strings.Builder
		for range r.IntN(1 << r.IntN(8)) {
			w.WriteByte("abcdefghij-./: {}[],:0123"[r.IntN(25)])
		}
		return w.String()
	}
	number := func() string {
		n := "123456789012345678901234567890"[r.IntN(5):]
		return n[:1+r.IntN(1<<r.IntN(5))%len(n)]
	}
	value := func() string {
		return []string{
			"true", "false", "null", "{}", "[]", `{"decision":false}`, `{"response":{"allowed":true}}`, `{"allow":true,"x":{"y":["}"]}}`, `{"body":"no \"metrics\" for you"}`, number(),
			`"` + word() + `"`, `{"a":"` + word() + `","b":[{},{"c":["` + word() + `"]}]}`, `["` + strings.Repeat("x", r.IntN(1000)) + `"]`,
		}[r.IntN(13)]
	}
	fmt.Fprintf(&b, `{"labels":{"id":"%s","version":"1.22.0"},"decision_id":"%s"`, word(), word())
	maybe(`,"trace_id":"cfb3e69930de9b6005e4669f725362b2","span_id":"1660f60ccffaed34"`)
	maybe(`,"bundles":{"authz":{"revision":%q}}`, word())
	maybe(`,"path":"%s"`, word())
	maybe(`,"query":"%s"`, word())
	maybe(`,"input":%s`, value())
	maybe(`,"result":%s`, value())
	maybe(`,"erased":["/input/password"]`)
	maybe(`,"requested_by":"%s"`, word())
	maybe(`,"rule_labels":[{"severity":"%s"},{"n":%s}]`, word(), value())
	maybe(`,"timestamp":"2026-01-02T03:04:05.%sZ"`, number())
	maybe(`,"a key that is longer than sixty-four bytes, and so is not known by them":%s`, number())
	b.WriteString(`,"metrics":{"counter_server_query_cache_hit":` + number())
	maybe(`,"timer_rego_input_parse_ns":%s`, number())
	maybe(`,"histogram_eval_op":{"count":%s}`, number())
	maybe(`,"timer_rego_query_eval_ns":%s`, number())
	maybe(`,"timer_rego_query_eval_ns":%s`, number())
	maybe(`,"timer_of_a_name_that_is_longer_than_sixty-four_bytes_and_goes_on_and_on_ns":%s`, number())
	fmt.Fprintf(&b, `,"timer_server_handler_ns":%s}`, number())
	maybe(`,"req_id":%s`, number())
	maybe(`,"custom":%s`, value())
	b.WriteString("}\n")
	return b.String()
}

// spread returns JSON with white space around its tokens: as json.dumps or as
// json.Indent writes it, or of any kind anywhere.
func spread(r *rand.Rand, text string) string {
	spaces, share := []string{" ", " ", " ", "\t", "\r", "  ", "   \t"}, 1+r.IntN(4)
	switch r.IntN(8) {
	case 0, 1:
		return text
	case 2:
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", " \t"[r.IntN(2):][:1]) == nil {
			return b.String()
		}
	case 3:
		spaces = append(spaces, "\n", "\r\n", "\n  ")
	case 4, 5:
		share = 0
	}
	var b strings.Builder
	maybeSpace := func() {
		if share > 0 && r.IntN(share) == 0 {
			b.WriteString(spaces[r.IntN(len(spaces))])
		}
	}
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = stringEnd([]byte(text), i)
			if end < 0 {
				end = len(text)
			}
		}
		if strings.IndexByte(`,:{}[]"`, text[i]) < 0 {
			b.WriteByte(text[i])
		} else {
			maybeSpace()
			b.WriteString(text[i:end])
			if maybeSpace(); share == 0 && (text[i] == ',' || text[i] == ':') {
				b.WriteByte(' ')
			}
		}
		i = end
	}
	return b.String()
}

// readEveryWay reads texts, twice, as each kind of processor does. All results
// are the same, whatever was read before, and whatever is behind the text.
func readEveryWay(t *testing.T, texts ...string) (want []result) {
	t.Helper()
	eachProcessor(func(processor string) {
		var c collector
		reader := NewReader(c.options())
		for i := range 2 * len(texts) {
			text := texts[i%len(texts)]
			reader.Reset()
			c.result = result{}
			given := append([]byte(text), strings.Repeat(`","metrics":{}}`, 20)...)[:len(text)]
			reader.Close(given[reader.Read(given):])
			c.Lines, c.Other = reader.Counts()
			slices.Sort(c.Problems)
			switch i := i % len(texts); {
			case i == len(want):
				want = append(want, c.result)
			case !reflect.DeepEqual(c.result, want[i]):
				t.Fatalf("%s, text %d of %q\n got %+v\nwant %+v", processor, i, texts, c.result, want[i])
			}
		}
	})
	return want
}

// All kinds of processors give the same result, whatever is broken.
func TestBrokenEveryWay(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	events, broken := 0, 0
	for range 1500 {
		var texts []string
		for range 4 {
			var text []byte
			for range 1 + r.IntN(8) {
				line := []byte(usualEvent(r))
				if r.IntN(2) == 0 {
					line = []byte(spread(r, string(line)))
				}
				if r.IntN(3) == 0 {
					at := r.IntN(len(line))
					switch r.IntN(3) {
					case 0:
						line[at] = byte(r.Uint32())
					case 1:
						line = slices.Delete(line, at, min(len(line), at+1+r.IntN(3)))
					case 2:
						pieces := []string{`"`, `\`, "{", "}", "[", "]", ",", ":", " ", "\t", "\r", "0", "9", "\n", "\x00", "é"}
						line = slices.Insert(line, at, []byte(pieces[r.IntN(len(pieces))])...)
					}
				}
				text = append(text, line...)
			}
			text = text[:len(text)-r.IntN(min(len(text), 100))*r.IntN(2)]
			texts = append(texts, string(text))
		}
		for _, got := range readEveryWay(t, texts...) {
			events += len(got.Events)
			broken += len(got.Problems)
		}
	}
	if events < 12_000 || broken < 1500 {
		t.Errorf("%d events, %d problems", events, broken)
	}
}

// Equal lines say the same, also where what is in a field is no JSON and no one
// looks at it, whatever white space is around it.
func TestEqualLines(t *testing.T) {
	for _, input := range []string{`[tru]`, `{"a" 1}`, `{1:2}`, `[,]`, `{"a":00}`, `{"a":{"b":[}]}`, `{"a":1}`, `[1, 2]`} {
		for _, comma := range []string{",", ", ", " ,", ",\t", " ,\r ", ",   "} {
			for _, colon := range []string{":", ": ", " :", ":\t", " : ", ":   "} {
				line := `{"decision_id"` + colon + `"a"` + comma + `"input"` + colon + input + comma + `"path"` + colon + `"p"` + comma + `"metrics"` + colon +
					`{"timer_a_ns"` + colon + `5` + comma + `"timer_b_ns"` + colon + "6}}\n"
				const lines = 10
				got := readEveryWay(t, strings.Repeat(line, lines))[0]
				if len(got.Events) != lines || len(got.Problems) > 0 || len(got.Events[lines-1].Measures) != 2 {
					t.Fatalf("%q: %+v", line, got)
				}
			}
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
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
		return oneOf(r,
			"true", "false", "null", "{}", "[]", `{"decision":false}`, `{"response":{"allowed":true}}`, `{"allow":true,"x":{"y":["}"]}}`, `{"body":"no \"metrics\" for you"}`, number(),
			`"`+word()+`"`, `{"a":"`+word()+`","b":[{},{"c":["`+word()+`"]}]}`, `["`+strings.Repeat("x", r.IntN(1000))+`"]`,
		)
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
	for r.IntN(4) == 0 { // a field that may be there, in whatever form
		fmt.Fprintf(&b, `,"%s":%s`, oneOf(r, "path", "query", "requested_by", "timestamp", "result", "trace_id", "bundles", "revision", "erased", "req_id", "rule_labels"),
			oneOf(r, "null", value(), `"`+word()+`"`, `"`+word()+`\n\u00e4"`, `{"a":{"revision":"\u0031"}}`, `["/result"]`))
	}
	b.WriteString("}\n")
	return b.String()
}

// token matches a token of JSON that white space may surround.
var token = regexp.MustCompile(`"(?:[^"\\\n]|\\[^\n])*"?|[,:{}\[\]]`)

// spread returns JSON with white space around its tokens: as json.dumps or as
// json.Indent writes it, or of any kind anywhere.
func spread(r *rand.Rand, text string) string {
	spaces, share := []string{" ", " ", " ", "\t", "\r", "  ", "   \t"}, 1+r.IntN(4)
	switch r.IntN(8) {
	case 0, 1:
		return text
	case 2:
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", oneOf(r, " ", "\t")) == nil {
			return b.String()
		}
	case 3:
		spaces = append(spaces, "\n", "\r\n", "\n  ")
	case 4, 5:
		return token.ReplaceAllStringFunc(text, func(s string) string { return s + map[string]string{",": " ", ":": " "}[s] })
	}
	maybe := func() string { return strings.Repeat(oneOf(r, spaces...), 1-min(1, r.IntN(share))) }
	return token.ReplaceAllStringFunc(text, func(s string) string { return maybe() + s + maybe() })
}

// eachProcessor calls read as on each kind of processor that this one can
// stand for. No other test may run at that time.
func eachProcessor(read func(processor string)) {
	blocks := hasBlocks
	defer func() { hasBlocks = blocks }()
	hasBlocks = false
	read("portable")
	if hasBlocks = blocks; hasBlocks {
		read("AVX2")
	}
}

// pageEnd is memory behind which is none, on systems whose tests make it.
var pageEnd []byte

// readEveryWay reads texts, forth and back, as each kind of processor does. All
// results are the same, in whatever pieces the text comes, whatever was read
// before, to its end or not, whatever is behind the text, whatever was at its
// place, and whether the reader forgets numbers.
func readEveryWay(t *testing.T, texts ...string) (want []result) {
	t.Helper()
	eachProcessor(func(processor string) {
		var c collector
		reader := NewReader(c.options())
		c.forget = reader.Forget
		var buffer []byte
		r := rand.New(rand.NewPCG(uint64(len(texts[0])), 1))
		for i := range 2 * len(texts) {
			i = min(i, 2*len(texts)-1-i)
			text := texts[i]
			reader.Reset()
			reader.Read([]byte(text[len(text)/3:]))
			reader.Reset()
			c.result = result{}
			buffer = append(append(buffer[:0], text...), strings.Repeat(`","metrics":{}}`, 20)...)
			given := buffer[:len(text)]
			if len(text) <= len(pageEnd) && r.IntN(2) == 0 {
				given = pageEnd[len(pageEnd)-len(text):]
				copy(given, text)
			}
			piece := reader.Read(given[:bytes.LastIndexAny(given[:r.IntN(len(given)+1)], "{}[]\"\\,\n")+1])
			reader.Close(given[piece+reader.Read(given[piece:]):])
			c.end(reader)
			switch {
			case i == len(want):
				want = append(want, c.result)
			case !reflect.DeepEqual(c.result, want[i]):
				t.Fatalf("%s, text %d of %q\n got %+v\nwant %+v", processor, i, texts, c.result, want[i])
			}
		}
	})
	for i, text := range texts {
		most := max([]int{1, 50, 2000}[len(text)%3], len(text)/100) // few parts take less time
		if got := readParts(text, randomParts(uint64(len(text)), most)); !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("%q in parts\n%+v\nwant\n%+v", text, got, want[i])
		}
	}
	return want
}

// oddPlace matches where something odd may be.
var oddPlace = regexp.MustCompile(`[0-9]+|true|"[a-z]`)

// brokenText returns some lines with events, of which some are broken.
func brokenText(r *rand.Rand, lines int) string {
	var text []byte
	for range 1 + r.IntN(lines) {
		line := []byte(usualEvent(r))
		if r.IntN(2) == 0 {
			line = []byte(spread(r, string(line)))
		}
		if places := oddPlace.FindAllIndex(line, -1); r.IntN(2) == 0 {
			at := places[r.IntN(len(places))]
			odd := oneOf(r, "0", "00", "01", "-1", "1.5", "1234567890123456", "12345678901234567", "null", "nuls", "true", "trua", "false", "falsy", `"1"`,
				"\"\t", `"é`, "\"\x7f", `"\n`, "[]", `{"a":{}}`, `["]"]`, "{ }", strings.Repeat(`"x":{},`, 2*mostFound), "["+strings.Repeat("[],", 10_000/2*r.IntN(4)*r.IntN(2))+"1]")
			line = slices.Concat(line[:at[0]], []byte(odd), line[at[1]:])
		}
		at := r.IntN(len(line))
		switch r.IntN(10) {
		case 0:
			line[at] = byte(r.Uint32())
		case 1:
			line = slices.Delete(line, at, min(len(line), at+1+r.IntN(3)))
		case 2:
			line = slices.Insert(line, at, []byte(oneOf(r, `"`, `\`, "{", "}", "[", "]", ",", ":", " ", "\t", "\r", "0", "9", "\n", "\x00", "é"))...)
		case 3:
			line = line[at+max(0, bytes.IndexByte(line[at:], '{')):] // the tail of an event
		}
		text = append(text, line...)
	}
	return string(text)
}

// All kinds of processors give the same result, whatever is broken.
func TestBrokenEveryWay(t *testing.T) {
	problems := 0
	rolls(t, 1200, 1100, func(r *rand.Rand) bool {
		var texts []string
		for range 2 {
			text := brokenText(r, 8)
			text = text[:len(text)-r.IntN(min(len(text), 100))*r.IntN(2)] + oneOf(r, "", "", `{"labels":"`+strings.Repeat("x", r.IntN(300)))
			texts = append(texts, text, strings.NewReplacer("1", "2", "true", "null", `"a`, `"b`, "hi", `\n`).Replace(text)) // as long
		}
		events := 0
		for _, got := range readEveryWay(t, texts...) {
			events += len(got.Events)
			problems += len(got.Problems)
		}
		return events > 0
	})
	if problems < 1500 {
		t.Errorf("only %d problems", problems)
	}
}

// rolls runs a check on random data many times. The check returns whether the
// data were of interest, which at least so many must be.
func rolls(t *testing.T, times, least int, check func(r *rand.Rand) bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range times {
		if check(r) {
			found++
		}
	}
	if found < least {
		t.Errorf("only %d of %d checks were of interest", found, times)
	}
}

// oneOf returns one of the values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

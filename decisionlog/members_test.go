// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
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
			"true", "false", "null", "{}", "[]", `{"allow":true,"x":{"y":["}"]}}`, `{"body":"no \"metrics\" for you"}`, number(),
			`"` + word() + `"`, `{"a":"` + word() + `","b":[{},{"c":["` + word() + `"]}]}`, `["` + strings.Repeat("x", r.IntN(1000)) + `"]`,
		}[r.IntN(11)]
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

// What a parser reads by blocks it also reads member by member, to the same,
// whatever is broken, and whatever is behind the text.
func TestMembersInBlocks(t *testing.T) {
	t.Parallel()
	if !hasWide {
		t.Skip("this processor, or build, reads no members by blocks")
	}
	r := rand.New(rand.NewPCG(11, 12))
	collect := func(inBlocks bool, text []byte) (result, int) {
		var c collector
		reader := NewReader(c.options())
		for i := range reader.parsers {
			reader.parsers[i].inBlocks = inBlocks
		}
		n := reader.Read(text)
		c.Lines, c.Other = reader.Counts()
		slices.Sort(c.Problems)
		return c.result, n
	}
	events, broken := 0, 0
	for range 20_000 {
		var text []byte
		for range 1 + r.IntN(8) {
			line := []byte(usualEvent(r))
			if r.IntN(3) == 0 {
				at := r.IntN(len(line))
				switch r.IntN(3) {
				case 0:
					line[at] = byte(r.Uint32())
				case 1:
					line = slices.Delete(line, at, min(len(line), at+1+r.IntN(3)))
				case 2:
					pieces := []string{`"`, `\`, "{", "}", "[", "]", ",", ":", " ", "0", "9", "\n", "\x00", "é"}
					line = slices.Insert(line, at, []byte(pieces[r.IntN(len(pieces))])...)
				}
			}
			text = append(text, line...)
		}
		text = text[:len(text)-r.IntN(min(len(text), 100))*r.IntN(2)]
		// What is behind it must not matter.
		text = append(bytes.Clone(text), strings.Repeat(`","metrics":{}}`, 20)...)[:len(text)]
		want, n := collect(false, text)
		got, m := collect(true, text)
		if n != m || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\n%d bytes: %+v\nwant %d: %+v", text, m, got, n, want)
		}
		events += len(got.Events)
		broken += len(got.Problems)
	}
	if events < 40_000 || broken < 5000 {
		t.Errorf("%d events, %d problems", events, broken)
	}
}

// All of a usual event is read by blocks, once its keys are known: or a change
// may have made that useless and nobody has noticed.
func TestMembersWhole(t *testing.T) {
	t.Parallel()
	if !hasWide {
		t.Skip("this processor, or build, reads no members by blocks")
	}
	line := `{"labels":{"id":"a"},"decision_id":"b","path":"c","input":{"d":["e"]},"result":true,"requested_by":"f",` +
		`"timestamp":"2026-01-02T03:04:05.6Z","metrics":{"counter_a":1,"timer_b_ns":1234567890123456},"req_id":1}`
	text := []byte(line + "\n" + strings.Repeat("x", 256))
	var m metrics
	p := parser{metrics: &m, inBlocks: true}
	if end := p.parse(text, 0); end != len(line) {
		t.Fatalf("%d, want %d", end, len(line))
	}
	m.parse(text, strings.Index(line, `{"counter_a`), func([]byte) int32 { return 7 })
	m.reset()
	p.seen, p.present, p.plain = 0, 0, 0
	next, _, whole := readMembers(&p, &text[0], 1, len(text), &p.start)
	if next != len(line) || !whole || len(m.measures) != 2 || m.measures[1].Value != 1234567890123456 {
		t.Errorf("ends at %d, %t, %v", next, whole, m.measures)
	}
}

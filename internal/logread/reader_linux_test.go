// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// guarded returns memory of whole pages, behind which is none.
func guarded(size int) []byte {
	memory := must(syscall.Mmap(-1, 0, size+os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	must(0, syscall.Mprotect(memory[size:], syscall.PROT_NONE))
	return memory[:size:size]
}

func init() { pageEnd = guarded(1 << 20) } // which the assembly must not read beyond

// Text that arrives byte by byte is not looked at again and again: while a
// value goes on, the pages between its begin and its end are out of reach, and
// reading fails if it touches them. Few readings may fail.
func TestLooksOnce(t *testing.T) {
	const size, bytes, maxLength = 256 << 10, 150, 1 << 20
	page := os.Getpagesize()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	many := strings.Repeat
	for name, test := range map[string]struct{ before, more, after string }{
		"array":               {`[{"decision_id":"x","input":"`, "x", `"}]`},
		"line":                {`{"decision_id":"x","input":"`, "x", `"}`},
		"line, escapes":       {`{"decision_id":"x","input":"`, `\`, `"}`},
		"lines":               {"{\n\"decision_id\":\"x\",\"input\":\"", "x", `"}`},
		"lines, escapes":      {"{\n\"decision_id\":\"x\",\"input\":\"", `\`, `"}`},
		"lines, number":       {"{\n\"decision_id\":\"x\",\"input\":", "1", "}"},
		"lines, blanks":       {"{\n\"decision_id\":\"x\",\"input\":", " ", "1}"},
		"blanks in an object": {"{", " ", "\n}"},
		"blanks in an array":  {"[", " ", "\n]"},
		"blanks behind":       {`{"decision_id":"x","input":"` + many("x", size) + `"}`, " ", ""},
		"plain":               {"x", "x", ""},
		"CSV":                 {"decision_id,input\nx,\"{\n\"\"decision_id\"\":\"\"", "x", `"""}"`},
		"CSV, quotes":         {"decision_id,input\nx,\"{\n\"\"decision_id\"\":", `"`, `}"`},
		"CSV, long line":      {"decision_id,input\n" + many("x", size) + ",\"{\n\"\"decision_id\"\":\"\"", "x", `"""}"`},
		"text":                {"[INFO] Decision Log\n  decision_id = ", "x", ""},
		"text of a logger":    {"[INFO] x\n  a = ", "x", ""},
		"document, string":    {`{"hits":[` + many("1,", maxLength/2) + `"`, "x", `"]}`},
		"document, number":    {`{"hits":[` + many("1,", maxLength/2), "1", "]}"},
		"document, blanks":    {`{"hits":[` + many("1,", maxLength/2) + `{"a"`, " ", ":1}]}"},
		"document, long key":  {`{"hits":[` + many("1,", maxLength/2) + `[],"a":"` + many("x", size) + `"`, " ", ":1}]}"},
	} {
		text := test.before + many(test.more, size+bytes) + test.after + "\n"
		given, err := syscall.Mmap(-1, 0, len(text), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Skip(err)
		}
		copy(given, text)
		eachProcessor(func(processor string) {
			again := map[int]bool{} // where the text is read again, which later rounds allow
			for fails := true; fails && len(again) < 3; {
				r := NewReader(Options{Metric: func([]byte) int32 { return 0 }, Event: func(*Event) {}, Problem: func(Problem, int64) {}, MaxLength: maxLength})
				to := len(test.before) + size
				from := r.Read(given[:to])
				func() {
					defer func() {
						if fails = recover() != nil; fails {
							again[to] = true
						}
						must(0, syscall.Mprotect(given, syscall.PROT_READ|syscall.PROT_WRITE))
					}()
					for range bytes {
						to++
						if first, last := from/page*page+2*page, to/page*page-2*page; first < last && !again[to] {
							must(0, syscall.Mprotect(given[first:last], syscall.PROT_NONE))
						}
						from += r.Read(given[from:to])
						must(0, syscall.Mprotect(given, syscall.PROT_READ|syscall.PROT_WRITE))
					}
				}()
			}
			if len(again) > 1 {
				t.Errorf("%s, %s: the text is read again at %v", processor, name, again)
			}
		})
		must(0, syscall.Munmap(given))
	}
}

// What a string means is the same byte by byte, whatever is behind the text, and
// on each kind of processor. Texts and destinations may end at the end of a page.
func TestDecodeString(t *testing.T) {
	from, to := guarded(1<<16), guarded(1<<16)
	eachProcessor(func(processor string) {
		long, broken := 0, 0
		rolls(t, 50_000, 0, func(r *rand.Rand) bool {
			s := append([]byte("x"), randomString(r)...)
			behind := strings.Repeat(oneOf(r, `"`, "n", "\x00", `\`, "u00e4", "\n"), oneOf(r, 0, 64))
			text := from[len(from)-len(s)-len(behind):]
			copy(text[copy(text, s):], behind)
			room := to[len(to)-6-r.IntN(len(s)+200):]
			before := room[:copy(room, "before"[:r.IntN(7)])]
			end, _ := stringEnd(s, 1)
			got, gotEnd := decodeString(before, text[:len(s)], 1)
			want := got
			if end < 0 {
				broken++
			} else {
				want = unescape([]byte("before")[:len(before)], s[2:end-1])
				long += end / 100
			}
			if gotEnd != end || !bytes.Equal(got, want) {
				t.Fatalf("%s: %q means %q and ends at %d, want %q at %d", processor, text, got, gotEnd, want, end)
			}
			return true
		})
		if long < 5000 || broken < 5000 {
			t.Errorf("only %d were long, and %d broken", long, broken)
		}
	})
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

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

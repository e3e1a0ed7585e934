// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package logread

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// guarded returns memory of whole pages, behind which is none.
func guarded(size int) []byte {
	memory := must(syscall.Mmap(-1, 0, size+os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	must(0, syscall.Mprotect(memory[size:], syscall.PROT_NONE))
	return memory[:size]
}

// The system must agree about the processor, so that no test of instructions
// that this processor has is skipped. The test prints which code runs here.
func TestProcessor(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	_, flags, _ := strings.Cut(string(text), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	lacks := func(name string) bool { return !slices.Contains(strings.Fields(flags), name) }
	t.Logf("code for AVX2 runs here: %t", hasBlocks)
	if avx2 := !slices.ContainsFunc([]string{"avx2", "bmi1", "bmi2", "popcnt", "pclmulqdq"}, lacks); hasBlocks != avx2 {
		t.Errorf("the system says %t", avx2)
	}
}

// Text may end at the end of a page. The assembly must not read beyond it.
func TestPageEnd(t *testing.T) {
	t.Parallel()
	from := guarded(1 << 16)
	var c collector
	reader := NewReader(c.options())
	rolls(t, 2000, 1000, func(r *rand.Rand) bool {
		s := usualEvent(r)
		if r.IntN(2) == 0 {
			s = docker(spread(r, s))
		}
		s = s[:len(s)-r.IntN(min(len(s), 80))*r.IntN(2)]
		if r.IntN(8) == 0 {
			s += `{"labels":"` + strings.Repeat("x", r.IntN(300))
		}
		text := from[len(from)-len(s):]
		copy(text, s)
		reader.Reset()
		c.result = result{}
		reader.Close(text[reader.Read(text):])
		c.end(reader)
		if want := readAll(s); !reflect.DeepEqual(c.result, want) {
			t.Fatalf("%q\n got %+v\nwant %+v", s, c.result, want)
		}
		return len(c.Events) > 0
	})
}

// Texts and destinations may end at the end of a page. The bytes before a stop
// have the right meaning, and the function stops only for a reason.
func TestUnescapeBlocks(t *testing.T) {
	t.Parallel()
	if !hasBlocks {
		t.Skip("this processor unescapes no strings by blocks")
	}
	const size = 1 << 12
	from, to := guarded(1<<15), guarded(size)
	blocks := 0
	check := func(s []byte, room int) {
		if len(s) == 0 {
			return
		}
		text, dst := from[len(from)-len(s):], to[len(to)-room:]
		copy(text, s)
		for i := range to {
			to[i] = 0xaa
		}
		written, read := unescapeBlocks(&dst[0], room, &text[0], len(text), &kept)
		if want := unescape(nil, s[:read]); !bytes.Equal(dst[:written], want) || bytes.Count(to[:len(to)-room], []byte{0xaa}) != len(to)-room {
			t.Fatalf("%q, room for %d: %q, %d read, want %q", s, room, dst[:written], read, want)
		}
		if stringEnd(append([]byte{'"'}, s[:read]...), 0) >= 0 || bytes.IndexByte(s[:read], '\n') >= 0 {
			t.Fatalf("%q: %d read", s, read)
		}
		blocks += read / 64
		stops := len(s)-read < 65 || s[read] == '"' || s[read] == '\n' || room-written < 64 ||
			s[read] == '\\' && s[read+1] != '"' && s[read+1] != '\\'
		if !stops {
			t.Fatalf("%q, room for %d: stops at %d", s, room, read)
		}
	}
	rolls(t, 50_000, 0, func(r *rand.Rand) bool {
		check(randomString(r)[1:], min(size, 1+r.IntN(1<<r.IntN(14))))
		check([]byte(strings.Repeat(oneOf(r, `\`, "a"), r.IntN(400))), size)
		check(append(append(bytes.Repeat([]byte{'a'}, r.IntN(130)), '\\', byte(r.Uint32())), strings.Repeat("tail", 20)...), size)
		return true
	})
	if blocks < 30_000 {
		t.Errorf("only %d blocks", blocks)
	}
}

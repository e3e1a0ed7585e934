// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// guarded returns memory behind which is none.
func guarded(t *testing.T, size int) []byte {
	t.Helper()
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(memory[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
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
	before := true
	for _, test := range []struct {
		code, flags string
		has         bool
	}{
		{"AVX2", "avx2 popcnt pclmulqdq", hasBlocks},
		{"AVX-512", "avx512f avx512bw avx512vl bmi1 bmi2 avx512vbmi avx512_vbmi2", hasUnescape},
	} {
		want := before
		for _, flag := range strings.Fields(test.flags) {
			want = want && slices.Contains(strings.Fields(flags), flag)
		}
		t.Logf("code for %s runs here: %t", test.code, test.has)
		if test.has != want {
			t.Errorf("the system says %t", want)
		}
		before = want
	}
}

// Text may end at the end of a page. The assembly must not read beyond it.
func TestNestedFastAtPageEnd(t *testing.T) {
	t.Parallel()
	from := guarded(t, 1<<12)
	for n := 1; n < 400; n++ {
		for _, tail := range []string{"]", "", `"]`, "\n"} {
			text := from[len(from)-n:]
			copy(text, strings.Repeat("[", n))
			for i := 1; i+1 < n; i += 2 {
				copy(text[i:], "[]")
			}
			if len(tail) < n {
				copy(text[n-len(tail):], tail)
			}
			want, depth := nestedSlowly(text, 1, n-1, '[', 1)
			if depth > 0 || bytes.IndexByte(text, '\n') >= 0 {
				want = -1
			}
			if got, known := nestedFast(text, 0); known && got != want {
				t.Fatalf("%q: %d, want %d", text, got, want)
			}
			if hasBlocks && n >= 64 {
				specialBlock(&text[n-64])
			}
		}
	}
}

// Texts and destinations may end at the end of a page. The bytes before a stop
// have the right meaning, and the function stops only for a reason.
func TestUnescapeBlocks(t *testing.T) {
	t.Parallel()
	if !hasUnescape {
		t.Skip("this processor unescapes no strings by blocks")
	}
	const size = 1 << 12
	from, to := guarded(t, 1<<15), guarded(t, size)
	r := rand.New(rand.NewPCG(11, 12))
	blocks := 0
	check := func(s []byte, room int) {
		text := from[len(from)-len(s):]
		copy(text, s)
		dst := to[len(to)-room:]
		for i := range to {
			to[i] = 0xaa
		}
		// An empty slice at the end of the memory points to its begin.
		textAt, dstAt := &from[len(from)-1], &to[len(to)-1]
		if len(text) > 0 {
			textAt = &text[0]
		}
		if room > 0 {
			dstAt = &dst[0]
		}
		written, read := unescapeBlocks(dstAt, room, textAt, len(text))
		if want := unescape(nil, s[:read]); !bytes.Equal(dst[:written], want) || bytes.Count(to[:len(to)-room], []byte{0xaa}) != len(to)-room {
			t.Fatalf("%q, room for %d: %q, %d read, want %q", s, room, dst[:written], read, want)
		}
		if stringEnd(append([]byte{'"'}, s[:read]...), 0) >= 0 || bytes.IndexByte(s[:read], '\n') >= 0 {
			t.Fatalf("%q: %d read", s, read)
		}
		blocks += read / 64
		stops := read == len(s) || s[read] == '"' || s[read] == '\n' || room-written < 64 ||
			s[read] == '\\' && (read+1 == len(s) || !strings.ContainsRune(`"\/bfnrt`, rune(s[read+1])))
		if !stops {
			t.Fatalf("%q, room for %d: stops at %d", s, room, read)
		}
	}
	for n := range 400 {
		check(bytes.Repeat([]byte{'\\'}, n), size)
		check(bytes.Repeat([]byte{'a'}, n), size)
		check(append(bytes.Repeat([]byte{'a'}, n), `\\\"\u00e4`...), size)
	}
	for c := range 256 {
		for n := range 130 {
			s := append(bytes.Repeat([]byte{'a'}, n), '\\', byte(c))
			check(s, size)
			check(append(s, "tail of a text that does not end in this block: it goes on and on, as do many"...), size)
		}
	}
	for range 50_000 {
		s := randomString(r)[1:]
		check(s, min(size, r.IntN(1<<r.IntN(14))))
	}
	if blocks < 30_000 {
		t.Errorf("only %d blocks", blocks)
	}
}

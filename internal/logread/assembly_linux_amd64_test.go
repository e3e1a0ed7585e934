// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package logread

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

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

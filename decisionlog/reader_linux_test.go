// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"math/bits"
	"strings"
	"syscall"
	"testing"
)

// A text may be longer than 32 bits count, given at once.
func TestLongText(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("memory has no room for it")
	}
	// Of zeros, which take no memory, but for its begin and its end.
	size := uint64(1<<31 + 1<<16)
	text, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Skip(err)
	}
	defer func() { must(0, syscall.Munmap(text)) }()
	end := "\n" + strings.Repeat(event1+"\n", 3) + "[" + event1 + "]\n" + docker(event1+"\n") + pretty(event1) + "\n" + textFormat(event1)
	copy(text, event1+"\nplain")
	copy(text[len(text)-len(end):], end)
	var c collector
	r := NewReader(c.options())
	r.Close(text[r.Read(text):])
	if len(c.Events) != 8 || len(c.Problems) > 0 || c.Events[7].ID != "d1" || len(c.Events[7].Measures) != 3 {
		t.Errorf("%+v", c.result)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package logread

import (
	"os"
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

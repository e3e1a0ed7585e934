// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A finding fails the run, and the other targets are fuzzed all the same.
func TestFuzz(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module github.com/regometer/regometer/fuzzed\n\ngo 1.25\n",
		"x_test.go": `package x

import "testing"

func FuzzBad(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) { t.Error(n) })
}

func FuzzGood(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(*testing.T, int) {})
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Chdir(dir)
	var out strings.Builder
	err := fuzz(t.Context(), "10x", "", &out)
	if err == nil || !strings.Contains(err.Error(), "1 of 2 targets failed: [github.com/regometer/regometer/fuzzed FuzzBad]") {
		t.Errorf("got error %v\n%s", err, &out)
	}
	if err := fuzz(t.Context(), "10x", "FuzzGood$", &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := fuzz(t.Context(), "10x", "FuzzNothing", &out); err == nil {
		t.Error("no error when no target matches")
	}
}

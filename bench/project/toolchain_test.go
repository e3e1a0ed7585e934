// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oldestToolchain is the oldest Go that can build OPA 1.0.0, whose go line asks
// for 1.22.7.
const oldestToolchain = "go1.22.12"

// TestMetricsWithOldestToolchain: the files of package metrics that are put
// into OPA compile with the oldest toolchain that an OPA is built with. The
// flag -lang of a newer one does not show it: build tags such as go1.23 hold
// there.
func TestMetricsWithOldestToolchain(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("downloads " + oldestToolchain + ": set REGOMETER_SLOW_TESTS=1")
	}
	dir := t.TempDir()
	env := []string{"GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=" + oldestToolchain}
	if _, err := run(t.Context(), dir, env, "go", "version"); err != nil {
		t.Skipf("%s cannot be had: %v", oldestToolchain, err)
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", []byte("module metrics\n\ngo 1.22\n"))
	files, err := filepath.Glob(filepath.Join(root, "metrics", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	copied := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Base(file), content)
		copied++
	}
	if copied < 10 {
		t.Fatalf("only %d files of package metrics were found", copied)
	}
	for _, tags := range []string{"", "purego"} {
		if _, err := run(t.Context(), dir, env, "go", "vet", "-tags", tags, "."); err != nil {
			t.Error(err)
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench/internal/measure"
)

const checkedVersion = "v0.0.1-check"

// releaseCopy is a copy of the repository, and preparedRelease a release of it,
// which takes a minute to make. The tests that need one share it.
var (
	releaseCopy     string
	preparedRelease *Release
)

func TestMain(m *testing.M) {
	code := m.Run()
	if preparedRelease != nil {
		if err := errors.Join(preparedRelease.Close(), os.RemoveAll(releaseCopy)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func checkedRelease(t *testing.T) *Release {
	t.Helper()
	if preparedRelease != nil {
		return preparedRelease
	}
	var err error
	if releaseCopy, err = os.MkdirTemp("", "regometer-release-copy-"); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), root, releaseCopy); err != nil {
		t.Fatal(err)
	}
	if _, err := measure.Run(t.Context(), io.Discard, releaseCopy, nil, "git", "init", "-q"); err != nil {
		t.Fatal(err)
	}
	if preparedRelease, err = NewRelease(context.Background(), releaseCopy, checkedVersion, io.Discard); err != nil {
		t.Fatal(err)
	}
	return preparedRelease
}

// TestRelease rehearses a release. It builds all modules as published, installs
// the command, makes it build OPA, and writes the go.mod and go.sum files.
func TestRelease(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("fetches the modules that ours require: make test-slow runs it")
	}
	r := checkedRelease(t)
	if err := r.Build(); err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(); err != nil {
		t.Fatal(err)
	}
	prepared, err := Modules(releaseCopy)
	if err != nil {
		t.Fatal(err)
	}
	required := 0
	for _, m := range prepared {
		if len(m.File.Replace) > 0 {
			t.Errorf("%s still has replace directives", m.Path)
		}
		for _, q := range m.File.Require {
			if !strings.HasPrefix(q.Mod.Path, own) {
				continue
			}
			required++
			sums, err := os.ReadFile(filepath.Join(releaseCopy, m.Dir, "go.sum"))
			if q.Mod.Version != checkedVersion || err != nil || !strings.Contains(string(sums), q.Mod.Path+" "+checkedVersion+" h1:") {
				t.Errorf("%s requires %s, want %s with its checksum in go.sum: %v", m.Path, q.Mod, checkedVersion, err)
			}
		}
	}
	if required == 0 {
		t.Error("no module requires another")
	}
}

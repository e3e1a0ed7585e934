// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// A file that cannot be written whole, or brought to the disk, does not take
// its place.
func TestCut(t *testing.T) {
	const inChild = "REGOMETER_TEST_IN_CHILD"
	if os.Getenv(inChild) != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2, Max: 2}); err != nil {
			t.Fatal(err)
		}
		if err := Write("file", []byte("new")); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("got error %v", err)
		}
		return
	}
	t.Chdir(t.TempDir())
	if err := Write("file", []byte("old")); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestCut$")
	child.Env = append(os.Environ(), inChild+"=1")
	if out, err := child.Output(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	_, pipe, err := os.Pipe() // which has no disk
	if err == nil {
		err = os.WriteFile(pipe.Name(), nil, 0o644) // so that it could be renamed
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := (&File{pipe, "file"}).Commit(0o644); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got error %v", err)
	}
	if text, err := os.ReadFile("file"); string(text) != "old" {
		t.Errorf("got %q, %v", text, err)
	}
}

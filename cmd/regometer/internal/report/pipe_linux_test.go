// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// An interrupt does not wait for the writer of a named pipe.
func TestPipeWithoutWriter(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	x, err := Read(ctx, Options{Inputs: []string{pipe}})
	if err != nil {
		t.Fatal(err)
	}
	if r := x.Report(); !r.Interrupted || len(r.Inputs.Problems) > 0 {
		t.Errorf("interrupted %v, problems %v", r.Interrupted, r.Inputs.Problems)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A file that becomes shorter while it is mapped ends its reading with an error
// that makes Read begin anew, not the process.
func TestMappedFileShrinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("files are mapped on Linux alone")
	}
	name := filepath.Join(t.TempDir(), "log")
	line := []byte(`{"decision_id":"x","path":"p","metrics":{"timer_server_handler_ns":5}}` + "\n")
	if err := os.WriteFile(name, bytes.Repeat(line, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, unmap := mapFile(f, int64(len(line)), int64(100*len(line)))
	if !bytes.Equal(text, bytes.Repeat(line, 99)) {
		t.Fatalf("mapped %d bytes, and not those of 99 lines", len(text))
	}
	unmap()

	text, unmap = mapFile(f, 0, int64(100_000*len(line)))
	defer unmap()
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	o, err := Options{Inputs: []string{name}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ctx, fail := context.WithCancelCause(t.Context())
	w, err := newWorker(&reading{Options: o, fail: fail})
	if err != nil {
		t.Fatal(err)
	}
	w.begin(&part{})
	w.readMapped(ctx, text)
	if err := context.Cause(ctx); !errors.Is(err, errNotMapped) {
		t.Errorf("%v", err)
	}
}

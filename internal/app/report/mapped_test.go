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
	"strings"
	"testing"
)

// A file that becomes shorter while it is mapped ends its reading with an error
// that makes Read begin anew, not the process; whatever is read just then.
func TestMappedFileShrinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("files are mapped on Linux alone")
	}
	for name, line := range map[string]string{
		"lines":    `{"decision_id":"x","path":"p","metrics":{"timer_server_handler_ns":5}}` + "\n",
		"an input": `{"decision_id":"x","input":{"x":[` + strings.Repeat(`"y",`, 50_000) + `0]}}` + "\n",
		"a string": `{"decision_id":"` + strings.Repeat("x", 100_000) + `"}` + "\n",
		"docker's": `{"log":"` + strings.Repeat(`\"`, 50_000) + `"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "log")
			text := bytes.Repeat([]byte(line), 1+1_000_000/len(line))
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			mapped, unmap := mapFile(f, 5000, int64(len(text)))
			if !bytes.Equal(mapped, text[5000:]) {
				t.Fatalf("%d bytes, not those of the file", len(mapped))
			}
			unmap()

			o, err := Options{Inputs: []string{name}}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			ctx, fail := context.WithCancelCause(t.Context())
			w, err := newWorker(&reading{Options: o, fail: fail})
			if err != nil {
				t.Fatal(err)
			}
			w.begin(&part{input: &input{}})
			// The file has a page, and the job is of more.
			if err := os.Truncate(name, 4096); err != nil {
				t.Fatal(err)
			}
			w.readMapped(ctx, job{file: f, to: int64(len(text))})
			if err := context.Cause(ctx); !errors.Is(err, errNotMapped) {
				t.Errorf("%v", err)
			}
		})
	}
}

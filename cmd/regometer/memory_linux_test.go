// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A report needs no more than 256 MB, whatever is in the log.
func TestReportMemory(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("writes and reads a gigabyte: set REGOMETER_SLOW_TESTS=1")
	}
	// The kernel counts the peak of the process that starts the command as the
	// command's. So the test starts itself again, in a process without the
	// memory of the tests before.
	if os.Getenv("REGOMETER_MEMORY_TEST") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReportMemory$", "-test.v")
		cmd.Env = append(os.Environ(), "REGOMETER_MEMORY_TEST=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const most = 256 << 20
	kilobyte := strings.Repeat("x", 1<<10)
	// For the same reason, the test writes bit by bit.
	repeat := func(w *bufio.Writer, n int, s string) {
		for range n {
			w.WriteString(s)
		}
	}
	event := func(w *bufio.Writer, path string, input func()) {
		w.WriteString(`{"labels":{"id":"a"},"decision_id":"d","path":"` + path + `","input":`)
		input()
		w.WriteString(`,"result":true,"timestamp":"2026-01-02T03:04:05Z",` +
			`"metrics":{"counter_server_query_cache_hit":1,"timer_rego_external_resolve_ns":300,"timer_rego_input_parse_ns":9000,` +
			`"timer_rego_query_compile_ns":70000,"timer_rego_query_eval_ns":40000,"timer_server_handler_ns":130000}}` + "\n")
	}
	for name, c := range map[string]struct {
		write func(w *bufio.Writer)
		page  bool
	}{
		"a million paths": {write: func(w *bufio.Writer) {
			for i := range 1_000_000 {
				event(w, fmt.Sprintf("tenants/%d/allow", i), func() { w.WriteString("{}") })
			}
		}},
		"50,000 paths, a page": {write: func(w *bufio.Writer) {
			for i := range 500_000 {
				event(w, fmt.Sprintf("tenants/%d/allow", i%50_000), func() { w.WriteString("{}") })
			}
		}, page: true},
		"inputs of 60 MB": {write: func(w *bufio.Writer) {
			for range 5 {
				event(w, "p", func() {
					w.WriteByte('"')
					repeat(w, 60<<10, kilobyte)
					w.WriteByte('"')
				})
			}
		}},
		"a line of 300 MB": {write: func(w *bufio.Writer) {
			w.WriteString(`{"decision_id":"`)
			repeat(w, 300<<10, kilobyte)
			w.WriteByte('\n')
			event(w, "p", func() { w.WriteString("{}") })
		}},
		"nested 20,000,000 deep": {write: func(w *bufio.Writer) {
			event(w, "p", func() {
				repeat(w, 20_000_000, "[")
				repeat(w, 20_000_000, "]")
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			f := must(os.Create(log))
			w := bufio.NewWriter(f)
			c.write(w)
			noError(w.Flush(), f.Close())
			args := []string{"report", "--format", "json", "--allow-empty", "--parquet", log + ".parquet", log}
			if c.page {
				args = append(args, "--html", log+".html")
			}
			cmd := command(t, args...)
			out := must(os.Create(log + ".json"))
			defer out.Close()
			var errors bytes.Buffer
			cmd.Stdout, cmd.Stderr = out, &errors
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, &errors)
			}
			begin := make([]byte, len(`{"version":1`))
			if _, err := out.ReadAt(begin, 0); err != nil || string(begin) != `{"version":1` {
				t.Errorf("it begins with %q, %v", begin, err)
			}
			resident := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			t.Logf("%d MB", resident>>20)
			if resident > most {
				t.Errorf("%d MB resident", resident>>20)
			}
		})
	}
}

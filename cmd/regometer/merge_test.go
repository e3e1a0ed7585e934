// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// Reports that were saved and merged are printed as one over all logs.
func TestMerge(t *testing.T) {
	folder := t.TempDir()
	call := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errors bytes.Buffer
		if status := run(t.Context(), args, strings.NewReader(""), &out, &errors); status != want {
			t.Fatalf("%v: status %d, want %d: %s", args, status, want, &errors)
		}
		return out.String(), errors.String()
	}
	var logs, saved []string
	for i, name := range []string{"a", "b", "c"} {
		var b bytes.Buffer
		if _, err := samplelog.Write(&b, samplelog.Options{Decisions: 200, Seed: uint64(i), BadShare: 0.05}); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(folder, name+".log")
		if err := os.WriteFile(log, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		logs, saved = append(logs, log), append(saved, filepath.Join(folder, name+".rgm"))
		printed, _ := call(0, "report", "--save", saved[i], "--slowest", "3", log)
		if again, _ := call(0, "merge", saved[i]); again != printed {
			t.Errorf("of one file merge prints\n%s\nreport printed\n%s", again, printed)
		}
	}
	week := filepath.Join(folder, "week.rgm")
	call(0, "merge", "--save", week, saved[2], saved[0])
	for _, format := range []string{"table", "json", "csv", "markdown"} {
		want, _ := call(0, append([]string{"report", "--slowest", "3", "--format", format}, logs...)...)
		if got, _ := call(0, "merge", "--format", format, saved[1], week); got != want {
			t.Errorf("%s: merge prints\n%s\nreport prints\n%s", format, got, want)
		}
	}

	hour := filepath.Join(folder, "hour.rgm")
	call(0, "report", "--by", "hour", "--save", hour, logs[0])
	if _, stderr := call(exitFailure, "merge", week, hour); !strings.Contains(stderr, "hour.rgm cannot be merged") {
		t.Errorf("of groupings that differ it says %q", stderr)
	}
	if _, stderr := call(exitFailure, "report", week); !strings.Contains(stderr, "regometer merge") {
		t.Errorf("of a saved report, report says %q", stderr)
	}
	if stdout, _ := call(exitFailure, "report", "--save", folder, logs[0]); stdout != "" {
		t.Errorf("a report that cannot be saved is printed: %s", stdout)
	}
}

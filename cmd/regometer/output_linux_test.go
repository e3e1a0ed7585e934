// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// With this variable set, the command cannot write larger files than this
// number of bytes.
const fileSize = "REGOMETER_TEST_FILE_SIZE"

func init() {
	if size, err := strconv.ParseUint(os.Getenv(fileSize), 10, 64); err == nil {
		noError(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}))
	}
}

// If the last bytes of an output cannot be written, the command fails, and the
// file in the output's place stays.
func TestOutputsCut(t *testing.T) {
	w := newWorkshop(t)
	for i, f := range outputFlags {
		out := "cut" + string(rune('a'+i)) + f.suffix
		args := w.args(f.command + " " + f.args + " --" + f.flag + " " + out)
		succeed(t, args...)
		size := must(os.Stat(out)).Size()
		last := int64(1)
		if f.command == "replay" { // whose files have times, and so no certain size
			last = size / 8
		}
		for _, limit := range []int64{size - last, size / 2, 0} {
			before := w.state()
			cmd := command(t, args...)
			cmd.Env = append(cmd.Env, "REGOMETER_CACHE="+os.Getenv("REGOMETER_CACHE"), fileSize+"="+strconv.FormatInt(limit, 10))
			said, err := cmd.CombinedOutput()
			if status := exitStatusOf(t, err); status != exitFailure || !strings.Contains(string(said), "file too large") {
				t.Errorf("%q with %d of %d bytes: status %d: %s", args, limit, size, status, said)
			}
			if after := w.state(); !maps.Equal(before, after) {
				t.Errorf("%q with %d of %d bytes changed a file, or left one", args, limit, size)
			}
		}
	}
}

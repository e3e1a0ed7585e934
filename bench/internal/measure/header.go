// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"
)

// Header describes a measurement, in the configuration lines that benchstat
// knows. command is that in the folder cmd, with its flags; lines are what the
// benchmarks print, which may name the processor.
func Header(opaVersion, command string, lines []byte) []byte {
	cpu := string(cpuLine.Find(lines))
	if cpu == "" {
		cpu = "cpu: " + cpuName()
	}
	return fmt.Appendf(nil, "date: %s\ngoos: %s\ngoarch: %s\n%s\ncpus: %d\ngo: %s\nopa: %s\ncommand: go run ./cmd/%s\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, cpu, runtime.NumCPU(), runtime.Version(), opaVersion, command)
}

var cpuLine = regexp.MustCompile(`(?m)^cpu: .*$`)

// cpuName is the processor's name where the system has it in a file.
func cpuName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`).FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	return "unknown"
}

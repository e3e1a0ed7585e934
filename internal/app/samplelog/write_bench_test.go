// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"io"
	"testing"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// BenchmarkWrite includes the truth, whose quantiles are a third of the time if
// events are small.
func BenchmarkWrite(b *testing.B) {
	for _, test := range []struct {
		name, container string
		eventBytes      int
	}{
		{"ndjson-0.5KB", "ndjson", 0},
		{"ndjson-8KB", "ndjson", 8 << 10},
		{"console-0.5KB", "console", 0},
		{"docker-8KB", "docker", 8 << 10},
		{"pretty-0.5KB", "pretty", 0},
	} {
		b.Run(test.name, func(b *testing.B) {
			const size = 64 << 20
			b.SetBytes(size)
			for b.Loop() {
				_, err := samplelog.Write(io.Discard, samplelog.Options{
					Size: size, Container: test.container, EventBytes: test.eventBytes})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

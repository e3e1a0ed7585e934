// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"testing"
)

func BenchmarkReader(b *testing.B) {
	for name, text := range events.containers() {
		b.Run(name, func(b *testing.B) {
			text := bytes.Repeat([]byte(text+"\n"), 1<<20/len(text))
			b.SetBytes(int64(len(text)))
			r := NewReader(Options{Metric: func([]byte) int32 { return 0 }, Event: func(*Event) {}, Problem: func(Problem, int64) {}})
			for b.Loop() {
				r.Reset()
				r.Close(text[r.Read(text):])
			}
		})
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// Text may end where memory does.
func TestMembersAtEnd(t *testing.T) {
	const size = 1 << 14
	memory := guarded(t, size)
	r := rand.New(rand.NewPCG(23, 24))
	var texts []string
	for range 2000 {
		text := usualEvent(r)
		if r.IntN(2) == 0 {
			text = spread(r, text)
		}
		if r.IntN(4) > 0 {
			text = text[:r.IntN(len(text))]
		}
		texts = append(texts, text[max(0, len(text)-size):])
	}
	eachProcessor(func(processor string) {
		var c collector
		reader := NewReader(c.options())
		for _, text := range texts {
			reader.Reset()
			c.result = result{}
			given := memory[size-len(text) : size : size]
			copy(given, text)
			reader.Close(given[reader.Read(given):])
			c.Lines, c.Other = reader.Counts()
			slices.Sort(c.Problems)
			if want := readAll(text); !reflect.DeepEqual(c.result, want) {
				t.Fatalf("%s: %q\n got %+v\nwant %+v", processor, text, c.result, want)
			}
		}
	})
}

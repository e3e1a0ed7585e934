// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"maps"
	"slices"
	"sync"
)

// Boundary returns a place in text, as far behind as possible, where a reader
// that has read the text before it is at the beginning of a line and waits for
// nothing. So another reader can read the text behind it. Boundary returns 0 if
// the text alone does not show such a place. The text must begin with a line.
//
// The place is behind two lines that are events, or behind more lines than a
// stream waits for, if each of these lines holds a whole event, waits for
// nothing, and cannot be a part of a value of many lines. Each stream has at
// least two of these lines, because the first may belong to a value that began
// before.
func Boundary(text []byte) int {
	if HasTable(text) {
		return 0
	}
	c := counters.Get().(*counter)
	defer counters.Put(c)
	r := c.reader
	end := bytes.LastIndexByte(text, '\n') + 1
	// Of the lines that follow each other and hold a whole event: their end and
	// number, whether all are events themselves, and the number of lines of each
	// stream.
	boundary, lines, bare, streams := end, 0, true, map[string]int{}
	for end > 0 {
		line := text[bytes.LastIndexByte(text[:end-1], '\n')+1 : end]
		end -= len(line)
		r.Reset()
		c.events, c.faults = 0, 0
		isWhole := r.Read(line) == len(line) && c.events > 0 && c.faults == 0 && r.other == 0
		if !isWhole || r.partial || r.root.waits() || len(r.finder.waiting) > 0 {
			boundary, lines, bare = end, 0, true
			clear(streams)
			continue
		}
		lines++
		bare = bare && line[0] == '{' && r.finder.parsers[0].isEvent()
		if name := string(r.finder.name); name != "" {
			streams[name]++
		}
		if lines >= 2 && bare || lines > patience+1 && !slices.Contains(slices.Collect(maps.Values(streams)), 1) {
			return boundary
		}
	}
	return 0
}

// A counter has a reader, and what it has read.
type counter struct {
	reader         *Reader
	events, faults int
}

// counters are used again, because much of the time goes to fresh memory.
var counters = sync.Pool{New: func() any {
	c := new(counter)
	c.reader = NewReader(Options{
		Metric: func([]byte) int32 { return 0 },
		Event:  func(*Event) { c.events++ },
		Problem: func(p Problem, _ int64) {
			if p != NoZone && p != LineTime && p != WrapperTime {
				c.faults++
			}
		},
	})
	c.reader.finder.names = true
	return c
}}

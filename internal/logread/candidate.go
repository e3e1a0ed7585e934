// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// A shipper may leave an event in its string and put members of it beside the
// string. Events of one object or row that are the same decision count once, as
// the candidate that says the most. Elements of a list are different decisions.

// candidate is an event that another place of its record may have too.
type candidate struct {
	identity uint64
	richness int
	text     []byte   // a copy, since the strings of other members are decoded into the same memory
	times    [][]byte // see finder.times
	line     int64
}

func copyAll(texts [][]byte) (copies [][]byte) {
	for _, t := range texts {
		copies = append(copies, bytes.Clone(t))
	}
	return copies
}

// identify returns the hash of what tells an event from others: its decision
// id, or else its path, time and metrics.
func identify(p *parser) uint64 {
	if id := p.text(fieldDecisionID); len(id) > 0 {
		return maphash.Bytes(seed, id)
	}
	return maphash.Bytes(seed, p.text(fieldPath)) + 3*maphash.Bytes(seed, p.text(fieldTimestamp)) + 5*maphash.Bytes(seed, p.optional(fieldMetrics))
}

// richness says how much of an event the object has. Of two with as much, a
// flattened one is less likely to be whole, and one in a string more.
func (p *parser) richness(nesting int) int {
	const fields = 1<<fieldMetrics | 1<<fieldResult | 1<<fieldInput | 1<<fieldLabels | 1<<fieldTimestamp
	r := bits.OnesCount32(p.present&fields)<<16 + nesting
	if !p.flattened {
		r += 1 << 8
	}
	return r
}

// merge returns candidates with one of each decision that is both among those
// from start on and among those from another index on.
func merge(all []candidate, start, from int) []candidate {
	if start == from || from == len(all) {
		return all
	}
	places := map[uint64]int{}
	for i := start; i < from; i++ {
		places[all[i].identity] = i
	}
	kept := all[:from]
	for _, c := range all[from:] {
		at, isKnown := places[c.identity]
		switch {
		case !isKnown:
			kept = append(kept, c)
		case c.richness > kept[at].richness:
			kept[at] = c
		}
		delete(places, c.identity) // the next one is another decision
	}
	return kept
}

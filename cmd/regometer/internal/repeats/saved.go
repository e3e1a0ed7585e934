// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package repeats

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/regometer/regometer/internal/logread"
)

// Saved is the JSON of a finder and its set. The first repeats are those of the
// level. An element of the list has the keys of a shard.
type Saved struct {
	Level   int32         `json:"level"`
	Without int64         `json:"without,omitzero"`
	LeftOut int64         `json:"left_out,omitzero"`
	Missed  Occurrences   `json:"missed,omitzero"`
	Repeats []Occurrences `json:"repeats,omitempty"`
	List    [][]byte      `json:"list"`
}

// Save returns the form in which x is saved.
func (x *Finder) Save() Saved {
	x.set.raise(0)
	s := Saved{Level: x.set.level.Load(), Without: x.without, LeftOut: x.leftOut, Missed: x.missed}
	repeats := x.set.repeats[s.Level:]
	for i, o := range repeats {
		if o.N > 0 {
			s.Repeats = repeats[:i+1]
		}
	}
	for i := range x.set.shards {
		var text []byte
		for _, k := range x.set.shards[i].keys {
			text = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(text, k.id), k.rest)
		}
		if text != nil {
			s.List = append(s.List, text)
		}
	}
	return s
}

// Restore returns the finder that was saved, with a set of its own. It fails if a
// count is more than most.
func (s *Saved) Restore(most int64) (Finder, error) {
	x := New(new(Set))
	n, before := 0, key{}
	for _, text := range s.List {
		if n += len(text) / 16; n > MaxKeys || len(text)%16 != 0 {
			return x, fmt.Errorf("the list of decision ids is damaged, or has more than %d", MaxKeys)
		}
		for ; len(text) > 0; text = text[16:] {
			k := key{binary.BigEndian.Uint64(text), binary.BigEndian.Uint64(text[8:])}
			seconds := int64(k.rest >> checkBits)
			if compareKeys(k, before) <= 0 || k.id == 0 || seconds != 0 && max(seconds-zeroSecond, zeroSecond-seconds) > mostSeconds {
				return x, errors.New("a decision id is invalid, or not in order")
			}
			x.set.put(k)
			before = k
		}
	}
	if s.Level < 0 || int(s.Level)+len(s.Repeats) > len(x.set.repeats) {
		return x, fmt.Errorf("the level of the decision ids is %d: it must be from 0 to %d", s.Level, len(x.set.repeats)-len(s.Repeats))
	}
	x.set.raise(s.Level)
	copy(x.set.repeats[s.Level:], s.Repeats)
	x.without, x.leftOut, x.missed = s.Without, s.LeftOut, s.Missed
	return x, x.Check(most)
}

// Check returns an error if times are invalid, or counts negative or more than
// most.
func (x *Finder) Check(most int64) error {
	for _, o := range append(x.set.repeats[:], x.missed, Occurrences{N: x.without}, Occurrences{N: x.leftOut}) {
		if o.N < 0 || o.N > most || o.First > o.Last || (o.First == logread.NoTime) != (o.Last == logread.NoTime) {
			return fmt.Errorf("%d decisions that repeat others or have no id, from %d to %d, are invalid", o.N, o.First, o.Last)
		}
	}
	return nil
}

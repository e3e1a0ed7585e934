// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/regometer/regometer/internal/logread"
)

// savedIDs are decisionIDs. The first repeats are those of the level. An element
// of the list has the keys of a shard.
type savedIDs struct {
	Level   int32         `json:"level"`
	Without int64         `json:"without,omitzero"`
	LeftOut int64         `json:"left_out,omitzero"`
	Missed  occurrences   `json:"missed,omitzero"`
	Repeats []occurrences `json:"repeats,omitempty"`
	List    [][]byte      `json:"list"`
}

// saved returns the form in which ids are saved.
func (x *decisionIDs) saved() savedIDs {
	x.set.raise(0)
	s := savedIDs{Level: x.set.level.Load(), Without: x.without, LeftOut: x.leftOut, Missed: x.missed}
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

// read reads x from s.
func (x *decisionIDs) read(s *savedIDs) error {
	n, before := 0, decisionKey{}
	for _, text := range s.List {
		if n += len(text) / 16; n > maxKeys || len(text)%16 != 0 {
			return fmt.Errorf("the list of decision ids is damaged, or has more than %d", maxKeys)
		}
		for ; len(text) > 0; text = text[16:] {
			k := decisionKey{binary.BigEndian.Uint64(text), binary.BigEndian.Uint64(text[8:])}
			seconds := int64(k.rest >> checkBits)
			if compareKeys(k, before) <= 0 || k.id == 0 || seconds != 0 && max(seconds-zeroSecond, zeroSecond-seconds) > mostSeconds {
				return errors.New("a decision id is invalid, or not in order")
			}
			x.set.put(k)
			before = k
		}
	}
	if s.Level < 0 || int(s.Level)+len(s.Repeats) > len(x.set.repeats) {
		return fmt.Errorf("the level of the decision ids is %d: it must be from 0 to %d", s.Level, len(x.set.repeats)-len(s.Repeats))
	}
	x.set.raise(s.Level)
	copy(x.set.repeats[s.Level:], s.Repeats)
	x.without, x.leftOut, x.missed = s.Without, s.LeftOut, s.Missed
	return x.check()
}

// check returns an error if counts or times are invalid, or are too large to be
// merged.
func (x *decisionIDs) check() error {
	for _, o := range append(x.set.repeats[:], x.missed, occurrences{N: x.without}, occurrences{N: x.leftOut}) {
		if o.N < 0 || o.N > maxTotal || o.First > o.Last || (o.First == logread.NoTime) != (o.Last == logread.NoTime) {
			return fmt.Errorf("%d decisions that repeat others or have no id, from %d to %d, are invalid", o.N, o.First, o.Last)
		}
	}
	return nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

const mostNames = 4096

// maxNames limits the names of servers and of clients. A test lowers it.
var maxNames = mostNames

// names has the exact times and outcomes of each server or client. Beyond
// maxNames it has those with a hash below a limit, which falls (as a distinct
// sample does, Gibbons 2001). A name below the last limit was always below it,
// so the result depends neither on the order of the decisions nor of merging.
//
// There may be thousands of names in any order, so that memory is the limit: a
// look-up takes two lines of it. Two names with one hash of 64 bits count as one.
type names struct {
	limit uint64  // 0 stands for 2^64
	slots []int32 // indices in sums, plus 1, by hash; a power of two of them
	sums  []nameSum
	texts []string
}

// nameSum has the decisions of a name.
type nameSum struct {
	hash        uint64
	first, last int64 // times, or logread.NoTime
	outcomes    [outcome.Cancelled + 1]uint32
}

// sum returns the decisions of a name, or nil if there is no room for it.
func (n *names) sum(name []byte) *nameSum {
	hash := hashBytes(0, name)
	if hash >= n.limit-1 {
		return nil
	}
	if len(n.slots) == 0 {
		n.slots = make([]int32, 64)
	}
	mask := uint64(len(n.slots) - 1)
	at := hash & mask
	for ; n.slots[at] > 0; at = (at + 1) & mask {
		if s := &n.sums[n.slots[at]-1]; s.hash == hash {
			return s
		}
	}
	n.sums = append(n.sums, nameSum{hash: hash, first: logread.NoTime, last: logread.NoTime})
	n.texts = append(n.texts, string(name))
	n.slots[at] = int32(len(n.sums))
	if len(n.sums) > maxNames {
		return n.thin(n.limit/2, hash)
	}
	if 2*len(n.sums) > len(n.slots) {
		n.place(2 * len(n.slots))
	}
	return &n.sums[len(n.sums)-1]
}

// thin lowers the limit, and returns the sum with a hash, or nil.
func (n *names) thin(limit, hash uint64) (kept *nameSum) {
	n.limit = cmp.Or(limit, 1<<63)
	sums, texts := n.sums, n.texts
	n.sums, n.texts = n.sums[:0], n.texts[:0]
	for i, s := range sums {
		if s.hash < n.limit-1 {
			n.sums, n.texts = append(n.sums, s), append(n.texts, texts[i])
		}
	}
	n.place(len(n.slots))
	for i := range n.sums {
		if n.sums[i].hash == hash {
			kept = &n.sums[i]
		}
	}
	return kept
}

// place fills a number of slots.
func (n *names) place(slots int) {
	n.slots = make([]int32, slots)
	mask := uint64(slots - 1)
	for i, s := range n.sums {
		at := s.hash & mask
		for n.slots[at] > 0 {
			at = (at + 1) & mask
		}
		n.slots[at] = int32(i + 1)
	}
}

// add adds a decision of a name.
func (n *names) add(name []byte, time int64, o outcome.Outcome) {
	if len(name) > nameLength {
		name = nil
	} else if !utf8.Valid(name) {
		name = bytes.ToValidUTF8(name, []byte("\uFFFD"))
	}
	if s := n.sum(name); s != nil {
		widen(&s.first, &s.last, time)
		s.outcomes[o.Valid()]++
	}
}

// get returns the sum of a name, or nil.
func (n *names) get(name string) *nameSum {
	if at := slices.Index(n.texts, name); at >= 0 {
		return &n.sums[at]
	}
	return nil
}

// merge adds the names of o.
func (n *names) merge(o *names) {
	if n.limit-1 > o.limit-1 {
		n.thin(o.limit, 0)
	}
	for i, from := range o.sums {
		if s := n.sum([]byte(o.texts[i])); s != nil {
			widen(&s.first, &s.last, from.first)
			widen(&s.first, &s.last, from.last)
			for k, count := range from.outcomes {
				s.outcomes[k] += count
			}
		}
	}
}

// savedNames is the JSON of names, sorted.
type savedNames struct {
	Limit uint64      `json:"limit,omitzero"`
	List  []savedName `json:"list,omitempty"`
}

type savedName struct {
	Name     string                        `json:"name"`
	From     int64                         `json:"from"`
	To       int64                         `json:"to"`
	Outcomes [outcome.Cancelled + 1]uint32 `json:"outcomes"`
}

func (n *names) save() savedNames {
	s := savedNames{Limit: n.limit}
	for i, sum := range n.sums {
		s.List = append(s.List, savedName{n.texts[i], sum.first, sum.last, sum.outcomes})
	}
	slices.SortFunc(s.List, func(a, b savedName) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func (s *savedNames) restore() (*names, error) {
	n := &names{limit: s.Limit}
	for i, x := range s.List {
		if x.From > x.To || (x.From == logread.NoTime) != (x.To == logread.NoTime) || i > 0 && x.Name <= s.List[i-1].Name {
			return nil, fmt.Errorf("name %.80q of a server or client is invalid, or not in order", x.Name)
		}
		if sum := n.sum([]byte(x.Name)); sum != nil {
			sum.first, sum.last, sum.outcomes = x.From, x.To, x.Outcomes
		}
	}
	return n, nil
}

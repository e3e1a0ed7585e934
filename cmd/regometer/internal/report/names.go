// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

const mostNames = 4096

// maxNames limits the names of servers and of clients. A test lowers it.
var maxNames = mostNames

type outcomes [outcome.Cancelled + 1]uint64

// Decisions returns the number of decisions with any outcome.
func Decisions(outcomes [outcome.Cancelled + 1]uint64) (n uint64) {
	for _, k := range outcomes {
		n += k
	}
	return n
}

// names has the exact times and outcomes of each server or client. Beyond
// maxNames it has those with a hash below a limit, which falls (as a distinct
// sample does, Gibbons 2001). A name below the last limit was always below it,
// so the result depends neither on the order of the decisions nor of merging.
type names struct {
	limit uint64 // 0 stands for 2^64
	texts
	sums    []seen
	waiting []waiting // see flush
}

const namesWaiting = 32 // at most

// waiting is a decision of the name with a number.
type waiting struct {
	number  int32
	outcome outcome.Outcome
	time    int64
}

// seen has what is known of all decisions of a name.
type seen struct {
	First    int64    `json:"from"` // times, as in Report
	Last     int64    `json:"to"`
	Outcomes outcomes `json:"outcomes"`
}

var unseen = seen{First: logread.NoTime, Last: logread.NoTime}

func (s *seen) merge(o *seen) {
	widen(&s.First, &s.Last, o.First)
	widen(&s.First, &s.Last, o.Last)
	for of, n := range o.Outcomes {
		s.Outcomes[of] += n
	}
}

// widen widens the period from first to last so that it contains a time, unless
// the time is logread.NoTime.
func widen(first, last *int64, time int64) {
	if time == logread.NoTime {
		return
	}
	if *first == logread.NoTime || time < *first {
		*first = time
	}
	*last = max(*last, time)
}

// Decisions returns the number of decisions.
func (s *seen) Decisions() uint64 { return Decisions(s.Outcomes) }

// admit returns the number of a name, or -1 if there is no room for it.
func (n *names) admit(name hashed) int32 {
	at := n.find(name.hash)
	if at < 0 {
		if name = name.valid(); name.hash >= n.limit-1 {
			return -1
		}
		if at = n.number(name); int(at) == len(n.sums) {
			n.sums = append(n.sums, unseen)
		}
		for len(n.sums) > maxNames {
			n.thin(n.limit / 2)
		}
		at = n.find(name.hash)
	}
	return at
}

// thin lowers the limit.
func (n *names) thin(limit uint64) {
	n.flush()
	all := *n
	*n = names{limit: cmp.Or(limit, 1<<63)}
	for i, hash := range all.hashes {
		if hash < n.limit-1 {
			n.put(hash, all.list[i])
			n.sums = append(n.sums, all.sums[i])
		}
	}
}

// add adds a decision of a name, at the latest when flush is called.
func (n *names) add(name hashed, time int64, o outcome.Outcome) {
	if at := n.admit(name); at >= 0 {
		if n.waiting = append(n.waiting, waiting{at, o.Valid(), time}); len(n.waiting) == namesWaiting {
			n.flush()
		}
	}
}

// flush adds the decisions that wait. It waits for memory only once for several
// of them.
func (n *names) flush() {
	for _, w := range n.waiting {
		s := &n.sums[w.number]
		widen(&s.First, &s.Last, w.time)
		s.Outcomes[w.outcome]++
	}
	n.waiting = n.waiting[:0]
}

// merge adds the names of o.
func (n *names) merge(o *names) {
	if n.limit-1 > o.limit-1 {
		n.thin(o.limit)
	}
	for i := range o.sums {
		if at := n.admit(hashed{[]byte(o.list[i]), o.hashes[i]}); at >= 0 {
			n.sums[at].merge(&o.sums[i])
		}
	}
}

// A Member is a server or a client, with all its decisions.
type Member struct {
	Name string `json:"name"`
	ID   string `json:"-"` // the label "id" of a server, if it has one, and no other
	seen
}

// members returns the names, sorted.
func (n *names) members() (all []Member) {
	for i, name := range n.list {
		all = append(all, Member{Name: name, seen: n.sums[i]})
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// savedNames is the JSON of names.
type savedNames struct {
	Limit uint64   `json:"limit,omitzero"`
	List  []Member `json:"list,omitempty"`
}

func (n *names) save() savedNames { return savedNames{n.limit, n.members()} }

func (s *savedNames) restore() (*names, error) {
	n := &names{limit: s.Limit}
	for i, x := range s.List {
		if x.First > x.Last || (x.First == logread.NoTime) != (x.Last == logread.NoTime) || slices.Max(x.Outcomes[:]) > maxTotal || i > 0 && x.Name <= s.List[i-1].Name {
			return nil, fmt.Errorf("name %.80q of a server or client is invalid, or not in order", x.Name)
		}
		if at := n.admit(hashText([]byte(x.Name))); at >= 0 {
			n.sums[at] = x.seen
		}
	}
	return n, nil
}

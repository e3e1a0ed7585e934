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

// names has the exact times and outcomes of each server or client. Beyond
// maxNames it has those with a hash below a limit, which falls (as a distinct
// sample does, Gibbons 2001). A name below the last limit was always below it,
// so the result depends neither on the order of the decisions nor of merging.
type names struct {
	limit uint64 // 0 stands for 2^64
	texts
	sums []nameSum
}

// nameSum has the decisions of a name.
type nameSum struct {
	first, last int64 // times, or logread.NoTime
	outcomes    [outcome.Cancelled + 1]uint32
}

// sum returns the decisions of a name, or nil if there is no room for it.
func (n *names) sum(name hashed) *nameSum {
	if at := n.find(name.hash); at >= 0 {
		return &n.sums[at]
	}
	if name = name.valid(); name.hash >= n.limit-1 {
		return nil
	}
	at := int(n.number(name))
	if at == len(n.sums) {
		n.sums = append(n.sums, nameSum{first: logread.NoTime, last: logread.NoTime})
	}
	if len(n.sums) > maxNames {
		n.thin(n.limit / 2)
		if at = int(n.find(name.hash)); at < 0 {
			return nil
		}
	}
	return &n.sums[at]
}

// thin lowers the limit.
func (n *names) thin(limit uint64) {
	all := *n
	*n = names{limit: cmp.Or(limit, 1<<63)}
	for i, hash := range all.hashes {
		if hash < n.limit-1 {
			n.put(hash, all.list[i])
			n.sums = append(n.sums, all.sums[i])
		}
	}
}

// add adds a decision of a name.
func (n *names) add(name hashed, time int64, o outcome.Outcome) {
	if s := n.sum(name); s != nil {
		widen(&s.first, &s.last, time)
		s.outcomes[o.Valid()]++
	}
}

// get returns the sum of a name, or nil.
func (n *names) get(name string) *nameSum {
	if at := n.find(hashBytes(0, []byte(name))); at >= 0 {
		return &n.sums[at]
	}
	return nil
}

// merge adds the names of o.
func (n *names) merge(o *names) {
	if n.limit-1 > o.limit-1 {
		n.thin(o.limit)
	}
	for i, from := range o.sums {
		if s := n.sum(hashed{[]byte(o.list[i]), o.hashes[i]}); s != nil {
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
		s.List = append(s.List, savedName{n.list[i], sum.first, sum.last, sum.outcomes})
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
		if sum := n.sum(hashText([]byte(x.Name))); sum != nil {
			sum.first, sum.last, sum.outcomes = x.From, x.To, x.Outcomes
		}
	}
	return n, nil
}

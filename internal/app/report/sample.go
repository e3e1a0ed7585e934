// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

// A decisionSample has some of the decisions that have a time, for the findings
// that compare servers, paths, clients, revisions and times. Only a hash of a
// decision's id and time decides whether it is in the sample. So the sample
// depends neither on the order of the decisions nor on how they were merged.
type decisionSample struct {
	limit uint64 // decisions with a lower hash are in the sample
	kept  []sampled
	names map[string]string // the names of kept decisions, each only once in memory
	bytes int               // of names
	// recent has some of the names, by recentIndex. It saves look-ups.
	recent [1 << 10]string
}

// sampled is a decision in a sample.
type sampled struct {
	hash    uint64
	time    int64
	took    int64 // ns: of its longest stage, or 0
	outcome rollup.Outcome
	names   [attributes]string
}

// The attributes of a decision. In a sample, the server has all its labels as
// JSON. Scans have one label instead.
const (
	ofPath = iota
	ofServer
	ofClient
	ofRevision
	attributes
)

const (
	hashLimit   = 1 << 52 // JSON numbers below 2^53 are exact everywhere
	nameLength  = 1024
	sampleBytes = 4 << 20 // limits the bytes of names
)

// sampleSize limits the decisions of a sample.
const sampleSize = 1 << 13

func newSample() decisionSample { return decisionSample{limit: hashLimit, names: map[string]string{}} }

// hashOf returns a hash of the end of the decision's id and its time.
func hashOf(e *decisionlog.Event) uint64 {
	h := uint64(e.Time) * 0x9e3779b97f4a7c15
	if n := len(e.DecisionID); n >= 8 {
		h ^= binary.LittleEndian.Uint64(e.DecisionID[n-8:])
	}
	high, low := bits.Mul64(h^0xd6e8feb86659fd93, 0x9fb21c651e98df25)
	return (high ^ low) * 0xc2b2ae3d27d4eb4f >> 12
}

// add adds a decision if it is in the sample. stages has the stage of each
// metric, or "".
func (s *decisionSample) add(e *decisionlog.Event, stages []string) {
	hash := hashOf(e)
	if hash >= s.limit || e.Time == decisionlog.NoTime {
		return
	}
	d := sampled{hash: hash, time: e.Time, outcome: e.Outcome}
	for _, m := range e.Measures {
		if m.Value > d.took && stages[m.Metric] != "" {
			d.took = m.Value
		}
	}
	for i, name := range [attributes][]byte{e.Path, e.Labels, withoutPort(e.RequestedBy), e.BundleRevisions()} {
		d.names[i] = s.name(name)
	}
	s.kept = append(s.kept, d)
	s.fit()
}

// name returns a name as valid UTF-8, or "" if it is too long.
func (s *decisionSample) name(name []byte) string {
	recent := &s.recent[recentIndex(name)]
	if string(name) == *recent {
		return *recent
	}
	if len(name) > nameLength {
		return ""
	}
	known, ok := s.names[string(name)]
	if !ok {
		known = s.intern(strings.ToValidUTF8(string(name), "\uFFFD"))
	}
	*recent = known
	return known
}

// recentIndex returns a name's place in decisionSample.recent.
func recentIndex(name []byte) uint64 {
	n := len(name)
	if n < 8 {
		return lastBytes(name) * 0x9e3779b97f4a7c15 >> 54
	}
	h := binary.LittleEndian.Uint64(name[n/2-4:])*0x9e3779b97f4a7c15 + binary.LittleEndian.Uint64(name[n-8:])
	return (h ^ binary.LittleEndian.Uint64(name)) * 0xc2b2ae3d27d4eb4f >> 54
}

func (s *decisionSample) intern(name string) string {
	if known, ok := s.names[name]; ok {
		return known
	}
	s.names[name] = name
	s.bytes += len(name)
	return name
}

// fit lowers the limit until the sample has room.
func (s *decisionSample) fit() {
	for len(s.kept) > sampleSize {
		s.thin(s.limit * 3 / 4)
	}
	for s.bytes > sampleBytes { // perhaps only with names that are not needed any more
		if s.forget(); s.bytes > sampleBytes {
			s.thin(s.limit * 3 / 4)
			s.forget()
		}
	}
}

// thin lowers the limit.
func (s *decisionSample) thin(limit uint64) {
	s.limit = limit
	s.kept = slices.DeleteFunc(s.kept, func(d sampled) bool { return d.hash >= limit })
}

// forget forgets the names that no decision of the sample has.
func (s *decisionSample) forget() {
	clear(s.names)
	clear(s.recent[:])
	s.bytes = 0
	for i := range s.kept {
		for _, name := range s.kept[i].names {
			s.intern(name)
		}
	}
}

// merge adds the decisions of o.
func (s *decisionSample) merge(o *decisionSample) {
	if o.limit < s.limit {
		s.thin(o.limit)
	}
	for _, d := range o.kept {
		if d.hash < s.limit {
			for i, name := range d.names {
				d.names[i] = s.intern(name)
			}
			s.kept = append(s.kept, d)
		}
	}
	s.fit()
}

// sort sorts the decisions by time. Equal samples then have the same order.
func (s *decisionSample) sort() {
	slices.SortFunc(s.kept, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.hash, b.hash), slices.Compare(a.names[:], b.names[:]),
			cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.took, b.took))
	})
}

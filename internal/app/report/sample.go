// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// A decisionSample has some of the decisions that have a time, for the findings
// that compare servers, paths, clients, revisions and times. Only a hash of a
// decision's id and time decides whether it is in the sample. So the sample
// depends neither on the order of the decisions nor on how they were merged.
//
// Workers share a sample, so that the more of them there are, the fewer
// decisions are added in vain.
type decisionSample struct {
	limit atomic.Uint64 // decisions with a lower hash are in the sample
	mu    sync.Mutex    // guards the other fields while several workers add
	kept  []sampled
	text  []byte // the names of kept, in the same order
}

// sampled is a decision in a sample. It has no pointers, so that it costs
// little to move, and nothing to collect. Names are texts until a scan compares
// them, because a look-up for each name would cost more.
type sampled struct {
	hash    uint64
	time    int64
	took    int64                // ns: of its longest stage, or 0
	at      int32                // the index of its names in decisionSample.text
	ends    [sampledNames]uint16 // of the names, from there
	outcome outcome.Outcome
}

// The attributes of a decision. In a sample, the server has all its labels as
// JSON. Scans have one label instead.
const (
	ofPath = iota
	ofServer
	ofClient
	ofRevision
	attributes

	// Behind them, a sample has a rule for --outcome, if the result says neither
	// yes nor no.
	ofExample    = attributes
	sampledNames = attributes + 1
)

const (
	hashLimit  = 1 << 52 // JSON numbers below 2^53 are exact everywhere
	nameLength = 1024
)

// sampleSize and sampleBytes limit the decisions of a sample, and the names of
// all of them together. A test lowers them.
var sampleSize, sampleBytes = 1 << 13, 4 << 20

func newSample() *decisionSample {
	s := &decisionSample{}
	s.limit.Store(hashLimit)
	return s
}

// hashOf returns a hash of the end of the decision's id and its time.
func hashOf(e *logread.Event) uint64 {
	h := uint64(e.Time) * 0x9e3779b97f4a7c15
	if n := len(e.DecisionID); n >= 8 {
		h ^= binary.LittleEndian.Uint64(e.DecisionID[n-8:])
	}
	high, low := bits.Mul64(h^0xd6e8feb86659fd93, 0x9fb21c651e98df25)
	return (high ^ low) * 0xc2b2ae3d27d4eb4f >> 12
}

// add adds a decision if it is in the sample. stages has the stage of each
// metric, or "". Several goroutines may call it.
func (s *decisionSample) add(e *logread.Event, stages []string) {
	hash := hashOf(e)
	if hash >= s.limit.Load() || e.Time == logread.NoTime {
		return
	}
	d := sampled{hash: hash, time: e.Time, outcome: e.Outcome}
	for _, m := range e.Measures {
		if m.Value > d.took && stages[m.Metric] != "" {
			d.took = m.Value
		}
	}
	names := [sampledNames][]byte{e.Path, e.Labels, withoutPort(e.RequestedBy), e.BundleRevisions()}
	if hash%8 == 0 { // some are enough
		names[ofExample] = exampleRule(e)
	}
	for i, name := range names {
		if !utf8.Valid(name) {
			name = bytes.ToValidUTF8(name, []byte("\uFFFD"))
		}
		if names[i] = name; len(name) > nameLength {
			names[i] = nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if hash < s.limit.Load() { // another worker may have lowered it
		s.put(d, names)
		s.fit()
	}
}

// exampleRule returns a rule for --outcome that may judge the result of a
// decision: by a boolean field, or else a string. It returns nil if it finds
// none.
func exampleRule(e *logread.Event) []byte {
	var fields map[string]any
	if e.Outcome != outcome.OtherResult || len(e.Result) > nameLength || json.Unmarshal(e.Result, &fields) != nil {
		return nil
	}
	for _, of := range [][2]string{{"bool", ""}, {"string", ` == "TEXT"`}} {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			rule := "result." + field + of[1]
			_, err := outcome.NewVerdicts(map[string]string{"path": rule})
			if fmt.Sprintf("%T", fields[field]) == of[0] && err == nil && !strings.Contains(field, ".") {
				return []byte(rule)
			}
		}
	}
	return nil
}

// exampleOf returns a rule for --outcome for the results of a path.
func (s *decisionSample) exampleOf(path string) string {
	if s != nil {
		for i := range s.kept {
			if names := s.names(&s.kept[i]); string(names[ofPath]) == path && len(names[ofExample]) > 0 {
				return string(names[ofExample])
			}
		}
	}
	return "result.FIELD"
}

// put appends a decision.
func (s *decisionSample) put(d sampled, names [sampledNames][]byte) {
	d.at = int32(len(s.text))
	for i, name := range names {
		s.text = append(s.text, name...)
		d.ends[i] = uint16(len(s.text) - int(d.at))
	}
	s.kept = append(s.kept, d)
}

// names returns the names of a decision.
func (s *decisionSample) names(d *sampled) (names [sampledNames][]byte) {
	from := uint16(0)
	for i, end := range d.ends {
		names[i], from = s.text[d.at:][from:end], end
	}
	return names
}

// take appends those of some decisions that are below the limit.
func (s *decisionSample) take(kept []sampled, text []byte) {
	for _, d := range kept {
		if d.hash < s.limit.Load() {
			names := text[d.at:][:d.ends[sampledNames-1]]
			d.at = int32(len(s.text))
			s.text, s.kept = append(s.text, names...), append(s.kept, d)
		}
	}
}

// fit lowers the limit until the sample has room.
func (s *decisionSample) fit() {
	for len(s.kept) > sampleSize || len(s.text) > sampleBytes {
		s.thin(s.limit.Load() * 3 / 4)
	}
}

// thin lowers the limit. Decisions move towards the beginning, so none is
// overwritten before it has moved.
func (s *decisionSample) thin(limit uint64) {
	kept, text := s.kept, s.text
	s.kept, s.text = kept[:0], text[:0]
	s.limit.Store(limit)
	s.take(kept, text)
}

// merge adds the decisions of o.
func (s *decisionSample) merge(o *decisionSample) {
	if limit := o.limit.Load(); limit < s.limit.Load() {
		s.thin(limit)
	}
	s.take(o.kept, o.text)
	s.fit()
}

// sort sorts the decisions by time. Equal samples are then the same.
func (s *decisionSample) sort() {
	slices.SortFunc(s.kept, func(a, b sampled) int {
		if c := cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.hash, b.hash), cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.took, b.took)); c != 0 {
			return c
		}
		x, y := s.names(&a), s.names(&b)
		return slices.CompareFunc(x[:], y[:], bytes.Compare)
	})
	kept, text := s.kept, s.text
	s.kept, s.text = kept[:0], make([]byte, 0, len(text))
	s.take(kept, text)
}

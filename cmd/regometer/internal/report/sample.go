// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// A decisionSample has some of the decisions that have a time, for the findings
// that compare servers, paths, clients, revisions and times. Only a hash of a
// decision's id and time decides whether it is in the sample. So the sample
// depends neither on the order of the decisions nor on how they were merged.
type decisionSample struct {
	limit uint64    // decisions with a lower hash are in the sample
	kept  []sampled // sorted, once all have been read
	names texts     // of kept

	last [sampledNames]lastName // of the decision that was added last
}

// lastName is a name that often comes again.
type lastName struct {
	hash   uint64
	number int32 // plus 1
}

// A sampleLimit keeps the samples of all workers together as small as that of one
// must be: the more workers there are, the fewer decisions each of them adds.
type sampleLimit struct {
	mu    sync.Mutex
	limit uint64
	sizes map[*decisionSample]int // of the samples that have the limit
}

// sampleStep is the number of decisions after which a worker looks at the limit.
const sampleStep = 256

// share tells the size of a worker's sample, and lowers its limit to that of all.
// The limit falls only if that of the merged sample must fall too.
func (l *sampleLimit) share(s *decisionSample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.limit > l.limit {
		s.thin(l.limit)
	}
	l.sizes[s] = len(s.kept)
	all := 0
	for _, n := range l.sizes {
		all += n
	}
	for all > sampleSize || s.isFull() {
		s.thin(s.limit * 3 / 4)
		clear(l.sizes)
		all = len(s.kept)
		l.limit, l.sizes[s] = s.limit, all
	}
}

// sampled is a decision in a sample. It has no pointers, so that it costs
// nothing to collect.
type sampled struct {
	hash    uint64
	time    int64
	took    int64               // ns: of its longest stage, or 0
	parts   [parts]float32      // ns: of the stages of partStages, or 0, or -1 for a stage that did not finish
	names   [sampledNames]int32 // indices in decisionSample.names
	input   uint32              // a hash of the input, or 0
	size    uint32              // bytes of the event
	outcome outcome.Outcome
}

// The attributes of a decision. In a sample, the server has all its labels as
// JSON. Scans have one label instead.
const (
	ofPath = iota
	ofServer
	ofClient
	ofRevision
	ofKey // of the group, if it is a label or a field
	attributes

	// Behind them, a sample has a rule for --outcome, if the result says neither
	// yes nor no.
	ofExample    = attributes
	sampledNames = attributes + 1
)

// partStages are the stages of which a sample has the durations. Evaluation
// contains http.send.
var partStages = [parts]string{evaluationStage, httpStage, compileStage, inputStage}

const (
	ofEvaluation = iota
	ofHTTP
	ofCompile
	ofInput
	parts
)

// castagnoli is by far the fastest hash of large inputs: processors have it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const hashLimit = 1 << 52 // JSON numbers below 2^53 are exact everywhere

// sampleSize and sampleBytes limit the decisions of a sample, and the names of
// all of them together. A test lowers them.
var sampleSize, sampleBytes = 1 << 16, 4 << 20

// hashOf returns a hash of the end of the decision's id and its time.
func hashOf(e *logread.Event) uint64 {
	h := uint64(e.Time) * 0x9e3779b97f4a7c15
	if n := len(e.DecisionID); n >= 8 {
		h ^= binary.LittleEndian.Uint64(e.DecisionID[n-8:])
	}
	high, low := bits.Mul64(h^0xd6e8feb86659fd93, 0x9fb21c651e98df25)
	return (high ^ low) * 0xc2b2ae3d27d4eb4f >> 12
}

// add adds a decision, and returns true, if it is in the sample. stages has the
// stage of each metric, or "". The key is that of its group, or nil.
func (s *decisionSample) add(e *logread.Event, stages []string, server, client hashed, key []byte) bool {
	hash := hashOf(e)
	if hash >= s.limit || e.Time == logread.NoTime {
		return false
	}
	d := sampled{hash: hash, time: e.Time, outcome: e.Outcome, size: uint32(min(len(e.Text), math.MaxUint32))}
	for _, m := range e.Measures {
		if stage := stages[m.Metric]; stage != "" {
			d.took = max(d.took, m.Value)
			if i := slices.Index(partStages[:], stage); i >= 0 {
				if d.parts[i] = float32(m.Value); m.Value == 0 { // it did not finish
					d.parts[i] = -1
				}
			}
		}
	}
	if len(e.Input) > 0 && e.Erased == nil && e.Masked == nil { // otherwise, different inputs may look the same
		d.input = max(1, crc32.Checksum(e.Input, castagnoli))
	}
	names := [sampledNames]hashed{hashText(e.Path), server, client, hashText(e.BundleRevisions()), hashText(key), hashText(nil)}
	if hash%64 == 0 { // some are enough
		names[ofExample] = hashText(exampleRule(e))
	}
	for i, name := range names {
		last := &s.last[i]
		if last.hash != name.hash || last.number == 0 {
			*last = lastName{name.hash, s.names.number(name) + 1}
		}
		d.names[i] = last.number - 1
	}
	if n := len(s.kept); n == cap(s.kept) && n >= sampleStep { // the system gives memory when it is first used
		s.kept = append(make([]sampled, 0, sampleSize+sampleStep), s.kept...)
	}
	s.kept = append(s.kept, d)
	return true
}

const (
	listRule   = "not result" // judges results that are lists
	numberRule = "number"     // stands for the rule of numbers, which none judges
)

// exampleRule returns a rule for --outcome that may judge the result of a
// decision: by a boolean field, or else a string, or as a list of reasons. It
// returns nil if it finds none.
func exampleRule(e *logread.Event) []byte {
	if e.Outcome != outcome.Neither || len(e.Result) == 0 {
		return nil
	}
	switch e.Result[0] {
	case '[':
		return []byte(listRule)
	case '"':
		return []byte(`result == "TEXT"`)
	case '{':
	default:
		return []byte(numberRule)
	}
	var fields map[string]any
	if len(e.Result) > nameLength || json.Unmarshal(e.Result, &fields) != nil {
		return nil
	}
	for _, of := range [][2]string{{"bool", ""}, {"string", ` == "TEXT"`}} {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			rule := "result." + field + of[1]
			_, err := verdicts.New(map[string]string{"path": rule})
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
			if d := &s.kept[i]; s.name(d, ofPath) == path && s.name(d, ofExample) != "" {
				return s.name(d, ofExample)
			}
		}
	}
	return "result.FIELD"
}

// medianSizes returns the medians of the sizes of the decisions of each name.
func (s *decisionSample) medianSizes(of int) map[string]uint64 {
	sizes := make([][]uint32, len(s.names.list))
	for i := range s.kept {
		d := &s.kept[i]
		sizes[d.names[of]] = append(sizes[d.names[of]], d.size)
	}
	medians := map[string]uint64{}
	for n, all := range sizes {
		if slices.Sort(all); all != nil {
			medians[s.names.list[n]] = uint64(all[(len(all)-1)/2])
		}
	}
	return medians
}

// name returns a name of a decision.
func (s *decisionSample) name(d *sampled, of int) string { return s.names.list[d.names[of]] }

// take adds those of some decisions that are below the limit, in their order,
// with their names.
func (s *decisionSample) take(kept []sampled, names *texts) {
	numbers := make([]int32, len(names.list)) // in s, plus 1
	for i := range kept {
		if kept[i].hash >= s.limit {
			continue
		}
		s.kept = append(s.kept, kept[i])
		of := &s.kept[len(s.kept)-1].names
		for i, n := range of {
			if numbers[n] == 0 {
				numbers[n] = s.names.put(names.hashes[n], names.list[n]) + 1
			}
			of[i] = numbers[n] - 1
		}
	}
}

// fit lowers the limit until the sample has room.
func (s *decisionSample) fit() {
	for s.isFull() {
		s.thin(s.limit * 3 / 4)
	}
}

// isFull reports whether the sample has no room. Names of decisions that are not
// in the sample any more do not count.
func (s *decisionSample) isFull() bool {
	if s.names.bytes > sampleBytes {
		s.number()
	}
	return len(s.kept) > sampleSize || s.names.bytes > sampleBytes
}

// thin lowers the limit.
func (s *decisionSample) thin(limit uint64) {
	s.limit = limit
	s.kept = slices.DeleteFunc(s.kept, func(d sampled) bool { return d.hash >= limit })
}

// number leaves only the names of the decisions, in their order. Decisions move
// towards the beginning, so none is overwritten before it has moved.
func (s *decisionSample) number() {
	kept, names := s.kept, s.names
	s.kept, s.names, s.last = kept[:0], texts{}, [sampledNames]lastName{}
	s.take(kept, &names)
}

// merge adds the decisions of o, which must not be used afterwards. Both must be
// sorted.
func (s *decisionSample) merge(o *decisionSample) {
	if o.limit < s.limit {
		s.thin(o.limit)
	}
	n := len(s.kept)
	s.take(o.kept, &o.names)
	others := o.kept[:copy(o.kept, s.kept[n:])]
	for at := len(s.kept) - 1; n > 0 && len(others) > 0; at-- {
		if last := &others[len(others)-1]; s.compare(&s.kept[n-1], last) <= 0 {
			s.kept[at], others = *last, others[:len(others)-1]
		} else {
			s.kept[at], n = s.kept[n-1], n-1
		}
	}
	copy(s.kept, others) // if they are left, they are the first
	s.fit()
}

// sort sorts the decisions by time. Equal samples are then the same, but for the
// numbers of names.
func (s *decisionSample) sort() {
	slices.SortFunc(s.kept, func(a, b sampled) int { return s.compare(&a, &b) })
}

func (s *decisionSample) compare(a, b *sampled) int {
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	if c := cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.took, b.took)); c != 0 {
		return c
	}
	if c := cmp.Or(slices.Compare(a.parts[:], b.parts[:]), cmp.Compare(a.input, b.input), cmp.Compare(a.size, b.size)); c != 0 {
		return c
	}
	return slices.CompareFunc(a.names[:], b.names[:], func(a, b int32) int { return strings.Compare(s.names.list[a], s.names.list[b]) })
}

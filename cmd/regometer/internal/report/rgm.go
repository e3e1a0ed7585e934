// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// Saved Data are lines of JSON. The first line describes the report, and each
// other line is a slice of time of a group. Reports with the same content have
// the same bytes.

// savedHead is the first line of saved Data.
type savedHead struct {
	By          string        `json:"by"`
	Interrupted bool          `json:"interrupted,omitzero"`
	Inputs      Inputs        `json:"inputs"` // without the repeats
	SampleLimit uint64        `json:"sample_limit"`
	Names       []string      `json:"names,omitempty"`
	Sample      []savedSample `json:"sample,omitempty"`
	IDs         repeats.Saved `json:"ids,omitzero"`
	Largest     largest       `json:"largest,omitzero"`
	Servers     savedNames    `json:"servers,omitzero"`
	Clients     savedNames    `json:"clients,omitzero"`
	Tables      []savedTable  `json:"tables"`
}

type savedTable struct {
	Table    string `json:"table"`
	Width    int64  `json:"width"`
	Overflow uint64 `json:"overflow"`
}

// savedSlice is each other line: a group with one of its slices of time. The
// first one has the errors and the sizes of the group.
type savedSlice struct {
	Table string `json:"table"`
	groupby.Group
	groupby.Slice
}

// savedSample has the hash, the time, how long the decision took, the outcome,
// the hash of the input, the size, the durations of the parts, and the index of
// each name.
type savedSample [6 + parts + sampledNames]int64

type savedDurations struct {
	Min     int64       `json:"min,omitzero"`
	Max     int64       `json:"max,omitzero"`
	Sum     groupby.Sum `json:"sum"`
	Buckets [][2]int64  `json:"buckets"` // the index and the count of each that is not empty

	counts []uint64 // of all buckets from the first on
}

// maxLine limits a line of the JSON of a saved report, in bytes, and so the memory
// to read it. The first line has the ids of up to a million decisions, and many names.
// mostCounts limits the buckets of another line, with those between them. A test
// lowers maxLine.
var maxLine int64 = 128 << 20

const mostCounts = 2 << 20

var marshalers = json.WithMarshalers(json.MarshalToFunc(writeDurations))

// writeJSON writes x. Data with the same content give the same bytes.
func (x *Data) writeJSON(w io.Writer) error {
	s := savedHead{
		By: x.by, Interrupted: x.interrupted, Inputs: x.inputs, IDs: x.ids.Save(),
		Largest: x.largest, Servers: x.servers.save(), Clients: x.clients.save(),
	}
	x.saveSample(&s)
	tables := x.tables()
	for _, t := range tables {
		s.Tables = append(s.Tables, savedTable{t.name, t.Width(), t.Overflow()})
	}
	enc := jsontext.NewEncoder(w, jsontext.AllowInvalidUTF8(true))
	if err := json.MarshalEncode(enc, &s); err != nil {
		return err
	}
	for _, t := range tables {
		for g := range t.All(true) {
			line := savedSlice{Table: t.name, Group: *g}
			for _, line.Slice = range g.Slices {
				if err := json.MarshalEncode(enc, &line, marshalers); err != nil {
					return err
				}
				line.Errors, line.Sizes = nil, groupby.Sizes{} // only once
			}
		}
	}
	return nil
}

// readJSON reads what writeJSON wrote. It fails if the content is invalid, and at
// the end of r, which limits each line.
func readJSON(r *io.LimitedReader) (*Data, error) {
	var memory savedDurations // used again, because buckets are most of a file
	left := 0                 // for the buckets of a line, of which a few may be far apart
	options := json.JoinOptions(json.RejectUnknownMembers(true), json.WithUnmarshalers(json.UnmarshalFromFunc(
		func(dec *jsontext.Decoder, to *exphist.Snapshot) error {
			err := memory.read(dec, to)
			if left -= len(memory.counts); left < 0 {
				err = cmp.Or(err, errors.New("its histograms are too wide"))
			}
			return err
		},
	)))
	dec := jsontext.NewDecoder(r)
	var s savedHead
	if err := json.UnmarshalDecode(dec, &s, options); err != nil {
		return nil, err
	}
	x, err := s.restore()
	if err != nil {
		return nil, err
	}
	tables := x.tables()
	var line savedSlice
	for {
		r.N, left = maxLine, mostCounts
		line = savedSlice{Slice: groupby.Slice{Stages: line.Slice.Stages[:0], Counters: line.Slice.Counters[:0]}}
		err := json.UnmarshalDecode(dec, &line, options)
		if errors.Is(err, io.EOF) {
			return x, nil
		}
		if err == nil {
			err = line.insert(tables)
		}
		if err != nil {
			return nil, err
		}
	}
}

// restore returns the data without the groups' slices.
func (s *savedHead) restore() (*Data, error) {
	if _, err := keyOf(s.By); err != nil {
		return nil, err
	}
	x := newData(&Options{By: s.By})
	x.interrupted, x.largest = s.Interrupted, s.Largest
	x.inputs.merge(&s.Inputs)
	tables := x.tables()
	for i, t := range tables {
		if len(s.Tables) != len(tables) || s.Tables[i].Table != t.name {
			return nil, errors.New("it has other tables than its groups need")
		}
		if err := t.Restore(s.Tables[i].Width, s.Tables[i].Overflow); err != nil {
			return nil, err
		}
	}
	servers, errServers := s.Servers.restore()
	clients, errClients := s.Clients.restore()
	ids, errIDs := s.IDs.Restore(maxTotal)
	x.servers, x.clients, x.ids = servers, clients, ids
	return x, errors.Join(errServers, errClients, errIDs, x.readSample(s), x.largest.check(), x.inputs.check())
}

// insert adds the group with its slice of time to its table.
func (s *savedSlice) insert(tables []table) error {
	for _, t := range tables {
		if t.name == s.Table {
			s.Slices = []groupby.Slice{s.Slice}
			return t.Insert(&s.Group)
		}
	}
	return fmt.Errorf("there is no table %.80q", s.Table)
}

func writeDurations(enc *jsontext.Encoder, d *exphist.Snapshot) error {
	saved := savedDurations{Min: d.Min(), Max: d.Max()}
	saved.Sum.Hi, saved.Sum.Lo = d.Sum()
	first, counts := d.Buckets()
	for i, n := range counts {
		if n > 0 {
			saved.Buckets = append(saved.Buckets, [2]int64{int64(first + i), int64(n)})
		}
	}
	return json.MarshalEncode(enc, &saved)
}

// maxBuckets limits the buckets of a histogram.
var maxBuckets = groupby.Layout.MaxBuckets

// read reads durations, in the memory of s. It fails unless the indices of the
// buckets ascend within maxBuckets, and no count is 0.
func (s *savedDurations) read(dec *jsontext.Decoder, to *exphist.Snapshot) error {
	*s = savedDurations{Buckets: s.Buckets[:0], counts: s.counts[:0]}
	if err := json.UnmarshalDecode(dec, s); err != nil {
		return err
	}
	first := 0
	for i, b := range s.Buckets {
		if i == 0 {
			first = int(b[0])
		}
		at := b[0] - int64(first)
		if b[1] < 1 || at < int64(len(s.counts)) || at >= int64(maxBuckets) {
			return fmt.Errorf("the indices of buckets must ascend, within %d buckets, and have counts", maxBuckets)
		}
		s.counts = append(append(s.counts, make([]uint64, int(at)-len(s.counts))...), uint64(b[1]))
	}
	return to.Restore(&exphist.Content{
		Layout: groupby.Layout, Least: s.Min, Most: s.Max, SumHi: s.Sum.Hi, SumLo: s.Sum.Lo, First: first, Counts: s.counts,
	})
}

// saveSample writes the sample with each name once.
func (x *Data) saveSample(s *savedHead) {
	x.sample.number()
	s.SampleLimit, s.Names = x.sample.limit, x.sample.names.list
	for i := range x.sample.kept {
		d := &x.sample.kept[i]
		n := savedSample{int64(d.hash), d.time, d.took, int64(d.outcome), int64(d.input), int64(d.size)}
		for i, part := range d.parts {
			n[6+i] = int64(part)
		}
		for i, name := range d.names {
			n[6+parts+i] = int64(name)
		}
		s.Sample = append(s.Sample, n)
	}
}

func (x *Data) readSample(s *savedHead) error {
	if s.SampleLimit > hashLimit {
		return fmt.Errorf("sample_limit is %d: it must be at most 2^52", s.SampleLimit)
	}
	var names texts
	for i, name := range s.Names {
		if len(name) > nameLength || names.number(hashText([]byte(name))) != int32(i) {
			return errors.New("a name of the sample is invalid, or not the only one")
		}
	}
	x.sample = &decisionSample{limit: s.SampleLimit}
	var kept []sampled
	for _, n := range s.Sample {
		if n[0] < 0 || uint64(n[0]) >= s.SampleLimit || n[1] == logread.NoTime || n[2] < 0 ||
			n[3] < 0 || n[3] > int64(outcome.Cancelled) || n[4] != int64(uint32(n[4])) || n[5] != int64(uint32(n[5])) {
			return errors.New("a decision of the sample is invalid")
		}
		d := sampled{hash: uint64(n[0]), time: n[1], took: n[2], outcome: outcome.Outcome(n[3]), input: uint32(n[4]), size: uint32(n[5])}
		for i, part := range n[6:][:parts] {
			d.parts[i] = float32(part)
		}
		for i, at := range n[6+parts:] {
			if at < 0 || at >= int64(len(s.Names)) {
				return errors.New("a name of the sample is invalid")
			}
			d.names[i] = int32(at)
		}
		kept = append(kept, d)
	}
	x.sample.take(kept, &names)
	x.sample.fit()
	x.sample.sort()
	return nil
}

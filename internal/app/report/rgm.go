// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// docs/rgm.md describes the JSON of saved Data. Change it together with this
// file, and change formatVersion if readers of the old version would misread
// the result.

const formatVersion = 1

// saved is the JSON form of Data. The members have the order of the fields. The
// version comes first, because savedText checks it there.
type saved struct {
	Version      int             `json:"regometer_report"`
	By           string          `json:"by"`
	SlowestLimit int             `json:"slowest_limit"`
	Interrupted  bool            `json:"interrupted,omitzero"`
	Files        int64           `json:"files"`
	Bytes        int64           `json:"bytes"`
	Decisions    int64           `json:"decisions"`
	OtherLines   int64           `json:"other_lines"`
	Problems     []Problem       `json:"problems,omitempty"`
	Gaps         Gaps            `json:"gaps,omitzero"`
	SampleLimit  uint64          `json:"sample_limit"`
	Names        []string        `json:"names,omitempty"`
	Sample       []savedSample   `json:"sample,omitempty"`
	IDs          savedIDs        `json:"ids,omitzero"`
	Slowest      []SlowDecision  `json:"slowest,omitempty"`
	Largest      largest         `json:"largest,omitzero"`
	Groups       *groupby.Groups `json:"groups"`
	Revisions    *groupby.Groups `json:"revisions"`
	Paths        *groupby.Groups `json:"paths,omitzero"`
	Servers      savedNames      `json:"servers,omitzero"`
	Clients      savedNames      `json:"clients,omitzero"`
	Whole        *groupby.Groups `json:"whole,omitzero"`
}

type savedGroups struct {
	Limits   groupby.Limits   `json:"limits"`
	Width    int64            `json:"width"`
	Overflow groupby.Overflow `json:"overflow"`
	List     list             `json:"list"`
}

type savedGroup struct {
	Key    string        `json:"key"`
	From   int64         `json:"from"`
	To     int64         `json:"to"`
	Errors []savedError  `json:"errors,omitempty"`
	Sizes  groupby.Sizes `json:"sizes,omitzero"`
	Slices list          `json:"slices"`
}

type savedError struct {
	Code  string `json:"code"`
	Total uint64 `json:"count"`
}

// savedSample has the hash, the time, how long the decision took, whether it has
// a stage, the outcome, the hash of the input, the size, the durations of the
// parts, and the index of each name.
type savedSample [7 + parts + sampledNames]int64

type savedStage struct {
	Stage      string         `json:"stage"`
	Self       groupby.Sum    `json:"self"`
	Unfinished uint64         `json:"unfinished,omitzero"`
	Min        int64          `json:"min,omitzero"`
	Max        int64          `json:"max,omitzero"`
	Sum        groupby.Sum    `json:"sum"`
	Buckets    jsontext.Value `json:"buckets"` // a list of the index and the count of each that is not empty

	numbers []int64  // of Buckets
	counts  []uint64 // of all buckets from the first on
}

// marshalers write the types of other packages.
var marshalers = json.WithMarshalers(json.JoinMarshalers(
	json.MarshalToFunc(writeSum), json.MarshalToFunc(writeStage), json.MarshalToFunc(writeGroups),
	json.MarshalToFunc(func(enc *jsontext.Encoder, o outcome.Outcome) error {
		return enc.WriteToken(jsontext.String(o.String()))
	}),
))

// unmarshalers read the types of other packages. They also limit the lengths of
// lists, because short elements of a damaged file can take much memory.
func unmarshalers() json.Options {
	var memory savedStage // used again, because buckets are most of a file
	return json.WithUnmarshalers(json.JoinUnmarshalers(
		limited[Problem](1000), limited[Place](firstPlaces), limited[occurrences](len(repeats{})), limited[string](sampledNames*sampleSize), limited[Member](mostNames), limited[savedSample](sampleSize), limited[[]byte](keyShards), limited[SlowDecision](maxSlowest),
		limited[StageTime](slowStages), limited[savedError](1000), limited[groupby.Stage](1<<17), limited[groupby.Counter](1<<17),
		json.UnmarshalFromFunc(readOutcome), json.UnmarshalFromFunc(readSum),
		json.UnmarshalFromFunc(memory.read), json.UnmarshalFromFunc(readGroups),
	))
}

// limited returns a reader of lists, which fails if a list has more elements
// than the limit.
func limited[T any](limit int) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *[]T) error {
		*list = (*list)[:0]
		return eachElement(dec, func() error {
			if len(*list) == limit {
				return fmt.Errorf("a list has more than %d elements", limit)
			}
			*list = slices.Grow(*list, 1)[:len(*list)+1]
			v := &(*list)[len(*list)-1]
			*v = *new(T)
			return json.UnmarshalDecode(dec, v)
		})
	})
}

// eachElement calls read for each element of a list.
func eachElement(dec *jsontext.Decoder, read func() error) error {
	begin, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if begin.Kind() != '[' {
		return errors.New("a list must be in brackets")
	}
	for dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	_, err = dec.ReadToken()
	return err
}

// writeJSON writes x. Data with the same content give the same bytes.
func (x *Data) writeJSON(w io.Writer) error {
	in := &x.inputs
	s := saved{
		Version: formatVersion, By: x.by, SlowestLimit: x.slowest.limit, Interrupted: x.interrupted,
		Files: in.Files, Bytes: in.Bytes, Decisions: in.Decisions, OtherLines: in.OtherLines, Problems: in.Problems, Gaps: in.Gaps,
		IDs: x.ids.saved(), Slowest: x.slowest.kept, Largest: x.largest, Groups: x.groups, Revisions: x.revisions,
		Paths: x.paths, Servers: x.servers.save(), Clients: x.clients.save(), Whole: x.whole,
	}
	x.saveSample(&s)
	return json.MarshalWrite(w, &s, jsontext.AllowInvalidUTF8(true), marshalers)
}

// readJSON reads what writeJSON wrote. It fails if the content is invalid.
func readJSON(r io.Reader) (*Data, error) {
	var s saved
	if err := json.UnmarshalRead(r, &s, json.RejectUnknownMembers(true), unmarshalers()); err != nil {
		return nil, err
	}
	x := &Data{groups: s.Groups, revisions: s.Revisions, paths: s.Paths, whole: s.Whole, ids: decisionIDs{set: new(keySet)}}
	x.by, x.interrupted = s.By, s.Interrupted
	x.slowest, x.largest = slowest{limit: s.SlowestLimit, kept: s.Slowest}, s.Largest
	x.inputs = Inputs{Files: s.Files, Bytes: s.Bytes, Decisions: s.Decisions, OtherLines: s.OtherLines, Gaps: s.Gaps}
	if _, err := keyOf(x.by); err != nil {
		return nil, err
	}
	if x.groups == nil || x.revisions == nil || (x.paths == nil) != (x.by == "path") {
		return nil, errors.New("it lacks groups, revisions or paths")
	}
	var err error
	if x.servers, err = s.Servers.restore(); err == nil {
		x.clients, err = s.Clients.restore()
	}
	if err != nil {
		return nil, err
	}
	if inSeveral(x.by) != (x.whole != nil) {
		return nil, fmt.Errorf("grouped by %s, it has no totals, or has totals for no reason", x.by)
	}
	if x.slowest.limit < 0 || x.slowest.limit > maxSlowest {
		return nil, fmt.Errorf("slowest_limit is %d: it must be from 0 to %d", x.slowest.limit, maxSlowest)
	}
	for _, p := range s.Problems {
		x.inputs.problem(p.Kind, p.Count, p.First...).widen(p.From, p.To)
	}
	return x, errors.Join(x.ids.read(&s.IDs), x.readSample(&s), x.checkSlowest(), x.largest.check(), x.inputs.check())
}

// checkSlowest checks the slowest decisions, and sets their durations.
func (x *Data) checkSlowest() error {
	if n, limit := len(x.slowest.kept), x.slowest.limit; n > limit {
		return fmt.Errorf("it has %d slowest decisions: at most %d are allowed", n, limit)
	}
	for i := range x.slowest.kept {
		d := &x.slowest.kept[i]
		if len(d.Stages) == 0 {
			return errors.New("a decision has no stages")
		}
		for _, t := range d.Stages {
			if t.Took < 0 {
				return fmt.Errorf("a decision took %d ns in stage %.80q", t.Took, t.Stage)
			}
		}
		d.Took = d.Stages[0].Took
	}
	x.slowest.cut()
	return nil
}

// readOutcome reads the name of an outcome.
func readOutcome(dec *jsontext.Decoder, o *outcome.Outcome) error {
	var name string
	if err := json.UnmarshalDecode(dec, &name); err != nil {
		return err
	}
	for *o = range outcome.Cancelled + 1 {
		if o.String() == name {
			return nil
		}
	}
	return fmt.Errorf("a decision has the unknown outcome %.80q", name)
}

// writeSum writes a sum of 128 bits as an integer.
func writeSum(enc *jsontext.Encoder, s groupby.Sum) error {
	if s.Hi == 0 {
		return enc.WriteToken(jsontext.Uint(s.Lo))
	}
	return enc.WriteValue(jsontext.Value(s.String()))
}

// readSum reads an integer from 0 to 2^128−1.
func readSum(dec *jsontext.Decoder, s *groupby.Sum) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*s, err = groupby.ParseSum(text)
	return err
}

func writeStage(enc *jsontext.Encoder, s *groupby.Stage) error {
	d := &s.Durations
	text := []byte{'['}
	first, counts := d.Buckets()
	for i, n := range counts {
		if n > 0 {
			text = fmt.Appendf(text, "%d,%d,", first+i, n)
		}
	}
	text = append(bytes.TrimSuffix(text, []byte{','}), ']')
	return json.MarshalEncode(enc, &savedStage{
		Stage: s.Name, Self: s.Self, Unfinished: s.Unfinished, Min: d.Min(), Max: d.Max(), Sum: s.Took(), Buckets: text,
	})
}

// maxBuckets limits the buckets of a histogram.
var maxBuckets = groupby.Layout.MaxBuckets

// read reads a stage, in the memory of s. It fails unless the indices of the
// buckets ascend within maxBuckets, and no count is 0.
func (s *savedStage) read(dec *jsontext.Decoder, to *groupby.Stage) error {
	*s = savedStage{Buckets: s.Buckets[:0], numbers: s.numbers[:0], counts: s.counts[:0]}
	if err := json.UnmarshalDecode(dec, s); err != nil {
		return err
	}
	if err := json.Unmarshal(s.Buckets, &s.numbers); err != nil {
		return err
	}
	first := 0
	for b := range slices.Chunk(s.numbers, 2) {
		if len(s.counts) == 0 {
			first = int(b[0])
		}
		at := b[0] - int64(first)
		if len(b) < 2 || b[1] < 1 || at < int64(len(s.counts)) || at >= int64(maxBuckets) {
			return fmt.Errorf("stage %.80q: the indices of buckets must ascend, within %d buckets, and have counts", s.Stage, maxBuckets)
		}
		s.counts = append(append(s.counts, make([]uint64, int(at)-len(s.counts))...), uint64(b[1]))
	}
	to.Name, to.Self, to.Unfinished = s.Stage, s.Self, s.Unfinished
	if err := to.SetDurations(s.Min, s.Max, s.Sum, first, s.counts); err != nil {
		return fmt.Errorf("stage %.80q: %w", s.Stage, err)
	}
	return nil
}

// A list is written and read element by element.
type list struct {
	write func(*jsontext.Encoder) error
	read  func(*jsontext.Decoder) error
}

// MarshalJSONTo writes the list.
func (l list) MarshalJSONTo(enc *jsontext.Encoder) error { return l.write(enc) }

// UnmarshalJSONFrom reads the list.
func (l *list) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return l.read(dec) }

func writeGroups(enc *jsontext.Encoder, g *groupby.Groups) error {
	return json.MarshalEncode(enc, &savedGroups{g.Limits(), g.Width(), g.Overflow(), list{write: func(enc *jsontext.Encoder) error {
		err := enc.WriteToken(jsontext.BeginArray)
		for x := range g.Parts() {
			s := savedGroup{Key: x.Key, From: x.First, To: x.Last, Sizes: x.Sizes}
			s.Slices.write = func(enc *jsontext.Encoder) error { return json.MarshalEncode(enc, x.Slices) }
			for _, e := range x.Errors {
				s.Errors = append(s.Errors, savedError(e))
			}
			if err == nil {
				err = json.MarshalEncode(enc, &s)
			}
		}
		return cmp.Or(err, enc.WriteToken(jsontext.EndArray))
	}}})
}

// readGroups reads groups. It has one slice of time at a time in memory. In the
// JSON, each list must come last.
func readGroups(dec *jsontext.Decoder, to **groupby.Groups) error {
	var s savedGroups
	s.List.read = func(dec *jsontext.Decoder) (err error) {
		if *to, err = groupby.Restore(s.Limits, s.Width, s.Overflow); err != nil {
			return err
		}
		var g savedGroup
		inserted := false
		g.Slices.read = func(dec *jsontext.Decoder) error {
			inserted = true
			return g.insert(*to, dec)
		}
		return eachElement(dec, func() error {
			g, inserted = savedGroup{Slices: g.Slices}, false
			if err := json.UnmarshalDecode(dec, &g); err != nil || inserted {
				return err
			}
			return fmt.Errorf("group %.80q has no slices", g.Key)
		})
	}
	return json.UnmarshalDecode(dec, &s)
}

// insert reads the slices of a group, one at a time, and adds the group to the
// groups. In the JSON, the slices must come last.
func (g *savedGroup) insert(groups *groupby.Groups, dec *jsontext.Decoder) error {
	part, err := groups.Insert(g.Key, g.From, g.To)
	if err != nil {
		return err
	}
	if err := part.SetSizes(g.Sizes); err != nil {
		return err
	}
	for _, e := range g.Errors {
		if err := part.AddError(e.Code, e.Total); err != nil {
			return err
		}
	}
	var slice groupby.Slice
	if err := eachElement(dec, func() error {
		slice = groupby.Slice{Stages: slice.Stages[:0], Counters: slice.Counters[:0]}
		if err := json.UnmarshalDecode(dec, &slice); err != nil {
			return err
		}
		return part.AddSlice(&slice)
	}); err != nil {
		return err
	}
	return part.End()
}

// saveSample writes the sample with each name once.
func (x *Data) saveSample(s *saved) {
	x.sample.sort()
	x.sample.thin(x.sample.limit) // which numbers the names in their order
	s.SampleLimit, s.Names = x.sample.limit, x.sample.names.list
	for i := range x.sample.kept {
		d := &x.sample.kept[i]
		n := savedSample{int64(d.hash), d.time, d.took, 0, int64(d.outcome), int64(d.input), int64(d.size)}
		if d.timed {
			n[3] = 1
		}
		for i, part := range d.parts {
			n[7+i] = int64(part)
		}
		for i, name := range d.names {
			n[7+parts+i] = int64(name)
		}
		s.Sample = append(s.Sample, n)
	}
}

func (x *Data) readSample(s *saved) error {
	x.sample = newSample()
	if s.SampleLimit > hashLimit {
		return fmt.Errorf("sample_limit is %d: it must be at most 2^52", s.SampleLimit)
	}
	var names texts
	for i, name := range s.Names {
		if len(name) > nameLength || names.number(hashText([]byte(name))) != int32(i) {
			return errors.New("a name of the sample is invalid, or not the only one")
		}
	}
	x.sample.limit = s.SampleLimit
	var kept []sampled
	for _, n := range s.Sample {
		if n[0] < 0 || uint64(n[0]) >= s.SampleLimit || n[1] == logread.NoTime || n[2] < 0 ||
			n[3]&^1 != 0 || n[4] < 0 || n[4] > int64(outcome.Cancelled) || n[5] != int64(uint32(n[5])) || n[6] != int64(uint32(n[6])) {
			return errors.New("a decision of the sample is invalid")
		}
		d := sampled{hash: uint64(n[0]), time: n[1], took: n[2], timed: n[3] == 1, outcome: outcome.Outcome(n[4]), input: uint32(n[5]), size: uint32(n[6])}
		for i, part := range n[7:][:parts] {
			d.parts[i] = float32(part)
		}
		for i, at := range n[7+parts:] {
			if at < 0 || at >= int64(len(s.Names)) {
				return errors.New("a name of the sample is invalid")
			}
			d.names[i] = int32(at)
		}
		kept = append(kept, d)
	}
	x.sample.take(kept, &names)
	x.sample.fit()
	return nil
}

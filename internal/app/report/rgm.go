// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// docs/rgm.md describes the JSON of saved Data. A change here also needs a
// change there, and another formatVersion if readers of this version would
// misread the result.

const formatVersion = 2

// saved is the JSON form of Data. The order of the fields is that of the
// members, and the version comes first.
type saved struct {
	Version      version            `json:"regometer_report"`
	By           string             `json:"by"`
	SlowestLimit int                `json:"slowest_limit"`
	Interrupted  bool               `json:"interrupted,omitzero"`
	Files        int64              `json:"files"`
	Bytes        int64              `json:"bytes"`
	Decisions    int64              `json:"decisions"`
	OtherLines   int64              `json:"other_lines"`
	From         int64              `json:"from"`
	To           int64              `json:"to"`
	Problems     list[savedProblem] `json:"problems,omitempty"`
	IDShift      int                `json:"id_shift,omitzero"`
	IDs          list[savedID]      `json:"ids,omitempty"`
	Slowest      list[savedSlow]    `json:"slowest,omitempty"`
	Groups       savedGroups        `json:"groups"`
	Revisions    savedGroups        `json:"revisions"`
}

type savedProblem struct {
	Kind  string           `json:"kind"`
	Count int64            `json:"count"`
	First list[savedPlace] `json:"first"`
}

type savedPlace struct {
	File string `json:"file"`
	Line int64  `json:"line"`
}

type savedID struct {
	Hash  hexadecimal `json:"hash"`
	Count uint32      `json:"count"`
}

type savedSlow struct {
	Key     string          `json:"key"`
	ID      string          `json:"id"`
	Time    int64           `json:"time"`
	Outcome string          `json:"outcome"`
	Stages  list[savedTime] `json:"stages"`
	Place   savedPlace      `json:"place"`
}

type savedTime struct {
	Stage string `json:"stage"`
	Took  int64  `json:"took"`
}

type savedGroups struct {
	Limits   savedLimits   `json:"limits"`
	Width    int64         `json:"width"`
	Overflow savedOverflow `json:"overflow"`
	List     groupList     `json:"list"`
}

type savedLimits struct {
	Groups int   `json:"groups"`
	Names  int   `json:"names"`
	Width  int64 `json:"width"`
	Slices int   `json:"slices"`
	Cells  int   `json:"cells"`
}

type savedOverflow struct {
	Decisions uint64 `json:"decisions"`
	Stages    uint64 `json:"stages"`
	Counters  uint64 `json:"counters"`
}

type savedGroup struct {
	Key    string           `json:"key"`
	Errors list[savedError] `json:"errors,omitempty"`
	Slices sliceList        `json:"slices"`
}

type savedError struct {
	Code  string `json:"code"`
	Count uint64 `json:"count"`
}

type savedSlice struct {
	Begin    int64              `json:"begin"`
	Outcomes [6]uint64          `json:"outcomes"`
	Stages   list[savedStage]   `json:"stages,omitempty"`
	Counters list[savedCounter] `json:"counters,omitempty"`
}

type savedStage struct {
	Stage      string  `json:"stage"`
	Self       total   `json:"self"`
	Unfinished uint64  `json:"unfinished,omitzero"`
	Schema     int     `json:"schema"`
	Min        int64   `json:"min,omitzero"`
	Max        int64   `json:"max,omitzero"`
	Sum        total   `json:"sum"`
	Buckets    buckets `json:"buckets"`
}

type savedCounter struct {
	Counter string `json:"counter"`
	Total   total  `json:"total"`
}

// list is a list with a limit on its length, since a short element of a damaged
// file can take much memory.
type list[T interface{ limit() int }] []T

func (savedProblem) limit() int { return 1000 }
func (savedPlace) limit() int   { return firstPlaces }
func (savedID) limit() int      { return maxIDs }
func (savedSlow) limit() int    { return maxSlowest }
func (savedTime) limit() int    { return slowStages }
func (savedError) limit() int   { return 1000 }
func (savedStage) limit() int   { return 1 << 17 }
func (savedCounter) limit() int { return 1 << 17 }

// UnmarshalJSONFrom reads the list. It fails if the list is too long.
func (l *list[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*l = (*l)[:0]
	return eachElement(dec, func() error {
		n := len(*l)
		if limit := (*new(T)).limit(); n == limit {
			return fmt.Errorf("a list has more than %d elements", limit)
		}
		if n == cap(*l) {
			*l = slices.Grow(*l, 1)
		}
		*l = (*l)[:n+1]
		if stage, ok := any(&(*l)[n]).(*savedStage); ok { // the memory of its buckets is used again
			*stage = savedStage{Buckets: buckets{counts: stage.Buckets.counts[:0]}}
		} else {
			(*l)[n] = *new(T)
		}
		return json.UnmarshalDecode(dec, &(*l)[n])
	})
}

// eachElement calls read for each element of a list.
func eachElement(dec *jsontext.Decoder, read func() error) error {
	if dec.PeekKind() != '[' {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		return errors.New("a list must be in brackets")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// writeJSON writes x. Data that hold the same give the same bytes.
func (x *Data) writeJSON(w io.Writer) error {
	in := &x.inputs
	s := saved{
		Version: formatVersion, By: x.by, SlowestLimit: x.slowest.limit, Interrupted: x.interrupted,
		Files: in.files, Bytes: in.bytes, Decisions: in.decisions, OtherLines: in.otherLines, From: x.first, To: x.last,
		IDShift: x.ids.shift, Groups: newSavedGroups(x.groups), Revisions: newSavedGroups(x.revisions),
	}
	for _, kind := range slices.Sorted(maps.Keys(in.problems)) {
		p := savedProblem{Kind: kind, Count: in.problems[kind].Count}
		for _, place := range in.problems[kind].First {
			p.First = append(p.First, savedPlace(place))
		}
		s.Problems = append(s.Problems, p)
	}
	for _, hash := range slices.Sorted(maps.Keys(x.ids.counts)) {
		s.IDs = append(s.IDs, savedID{hexadecimal(hash), x.ids.counts[hash]})
	}
	for i := range x.slowest.kept {
		d := &x.slowest.kept[i]
		slow := savedSlow{Key: d.Key, ID: d.ID, Time: d.Time, Outcome: d.Outcome.String(), Place: savedPlace(d.Place)}
		for _, t := range d.Stages {
			slow.Stages = append(slow.Stages, savedTime(t))
		}
		s.Slowest = append(s.Slowest, slow)
	}
	return json.MarshalWrite(w, &s, jsontext.AllowInvalidUTF8(true))
}

// readJSON reads what writeJSON wrote.
func readJSON(r io.Reader) (*Data, error) {
	var s saved
	s.Groups.List.of, s.Revisions.List.of = &s.Groups, &s.Revisions
	if err := json.UnmarshalRead(r, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	x := &Data{
		by: s.By, groups: s.Groups.List.groups, revisions: s.Revisions.List.groups, first: s.From, last: s.To,
		slowest: slowest{limit: s.SlowestLimit}, interrupted: s.Interrupted,
		inputs: inputs{files: s.Files, bytes: s.Bytes, decisions: s.Decisions, otherLines: s.OtherLines},
	}
	if x.groups == nil || x.revisions == nil {
		return nil, errors.New("it has no groups or no revisions")
	}
	if _, err := keyOf(x.by); err != nil {
		return nil, err
	}
	if x.slowest.limit < 0 || x.slowest.limit > maxSlowest {
		return nil, fmt.Errorf("slowest_limit is %d: it must be from 0 to %d", x.slowest.limit, maxSlowest)
	}
	if x.first > x.last || (x.first == decisionlog.NoTime) != (x.last == decisionlog.NoTime) {
		return nil, errors.New("its first and its last time are not those of decisions")
	}
	for _, read := range []func(*saved) error{x.readProblems, x.readIDs, x.readSlowest} {
		if err := read(&s); err != nil {
			return nil, err
		}
	}
	return x, x.inputs.check()
}

func (x *Data) readProblems(s *saved) error {
	before := ""
	for _, p := range s.Problems {
		if p.Kind <= before {
			return fmt.Errorf("problem %.80q is invalid, or not in order", p.Kind)
		}
		before = p.Kind
		places := make([]Place, len(p.First))
		for i := range p.First {
			places[i] = Place(p.First[i])
		}
		x.inputs.problem(p.Kind, p.Count, places...)
	}
	return nil
}

func (x *Data) readIDs(s *saved) error {
	if s.IDShift < 0 || s.IDShift > 64 || s.IDShift < idShift && (s.IDShift > 0 || len(s.IDs) > 0) {
		return errors.New("the sample of decision ids is too large")
	}
	if x.ids.shift = s.IDShift; x.ids.shift > 0 {
		x.ids.counts = make(map[uint64]uint32, len(s.IDs))
	}
	for i, id := range s.IDs {
		if id.Count == 0 || id.Hash>>(64-x.ids.shift) != 0 || i > 0 && id.Hash <= s.IDs[i-1].Hash {
			return errors.New("a decision id is not one of the sample, or not in order")
		}
		x.ids.counts[uint64(id.Hash)] = id.Count
	}
	return nil
}

func (x *Data) readSlowest(s *saved) error {
	if len(s.Slowest) > x.slowest.limit {
		return fmt.Errorf("it has %d slowest decisions: at most %d are allowed", len(s.Slowest), x.slowest.limit)
	}
	for _, slow := range s.Slowest {
		d := SlowDecision{Key: slow.Key, ID: slow.ID, Time: slow.Time, Place: Place(slow.Place)}
		for d.Outcome.String() != slow.Outcome {
			if d.Outcome++; d.Outcome > rollup.Cancelled {
				return fmt.Errorf("a decision has the unknown outcome %.80q", slow.Outcome)
			}
		}
		for _, t := range slow.Stages {
			if t.Took < 0 {
				return fmt.Errorf("a decision took %d ns in stage %.80q", t.Took, t.Stage)
			}
			d.Stages = append(d.Stages, StageTime(t))
		}
		if len(d.Stages) == 0 {
			return errors.New("a decision has no stages")
		}
		d.Took = d.Stages[0].Took
		x.slowest.kept = append(x.slowest.kept, d)
	}
	x.slowest.cut()
	return nil
}

// version is the version of the format. Another one fails.
type version int

type versionError int

func (e versionError) Error() string {
	return fmt.Sprintf("has format version %d, and this regometer reads only version %d: use a newer one", int(e), formatVersion)
}

// UnmarshalJSONFrom fails before the rest of another version is read.
func (v *version) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var n int
	if err := json.UnmarshalDecode(dec, &n); err != nil {
		return err
	}
	if *v = version(n); n != formatVersion {
		return versionError(n)
	}
	return nil
}

// hexadecimal is a number of 64 bits that is written as 16 digits, since many
// programs round JSON numbers above 2^53.
type hexadecimal uint64

// MarshalText returns the digits.
func (h hexadecimal) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// UnmarshalText reads the digits.
func (h *hexadecimal) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if *h = hexadecimal(n); err == nil && len(text) != 16 {
		err = errors.New("a hash must have 16 digits")
	}
	return err
}

// total is a sum of 128 bits, written as an integer.
type total groupby.Sum

// MarshalJSONTo writes the integer.
func (t total) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t.Hi == 0 {
		return enc.WriteToken(jsontext.Uint(t.Lo))
	}
	return enc.WriteValue(jsontext.Value(groupby.Sum(t).String()))
}

// UnmarshalJSONFrom reads an integer from 0 to 2^128−1.
func (t *total) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	sum, err := groupby.ParseSum(text)
	*t = total(sum)
	return err
}

// buckets are the counts of a histogram from bucket first on. They are written
// as a list of the index and the count of each bucket that is not empty.
type buckets struct {
	first  int
	counts []uint64
}

// MarshalJSONTo writes the list.
func (b buckets) MarshalJSONTo(enc *jsontext.Encoder) error {
	text := append(enc.AvailableBuffer(), '[')
	for i, n := range b.counts {
		if n == 0 {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(b.first+i), 10)
		text = append(text, ',')
		text = strconv.AppendUint(text, n, 10)
	}
	return enc.WriteValue(append(text, ']'))
}

// maxBuckets limits the buckets of a histogram.
var maxBuckets = groupby.Layout.MaxBuckets

// UnmarshalJSONFrom reads the list. It fails unless indices ascend, within as
// many buckets as a histogram may have, and counts are from 1 to 2^64−1.
func (b *buckets) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b.counts = b.counts[:0]
	return eachElement(dec, func() error {
		text, err := dec.ReadValue()
		if err != nil {
			return err
		}
		index, err := strconv.ParseInt(string(text), 10, 32)
		if err != nil {
			return fmt.Errorf("invalid index of a bucket: %w", err)
		}
		if text, err = dec.ReadValue(); err != nil {
			return err
		}
		count, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil || count == 0 {
			return fmt.Errorf("invalid count %.30q of a bucket: it must be from 1 to 2^64-1", text)
		}
		if len(b.counts) == 0 {
			b.first = int(index)
		}
		at := int(index) - b.first
		if at < len(b.counts) || at >= maxBuckets {
			return fmt.Errorf("the indices of buckets must ascend, within %d buckets", maxBuckets)
		}
		for len(b.counts) < at {
			b.counts = append(b.counts, 0)
		}
		b.counts = append(b.counts, count)
		return nil
	})
}

func newSavedGroups(g *groupby.Groups) savedGroups {
	return savedGroups{
		Limits: savedLimits(g.Limits()), Width: g.Width(), Overflow: savedOverflow(g.Overflow()), List: groupList{groups: g},
	}
}

// groupList is the groups of a savedGroups, which are written and read one by
// one.
type groupList struct {
	of     *savedGroups // nil unless it is read
	groups *groupby.Groups
}

// MarshalJSONTo writes the groups.
func (l groupList) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	var s savedGroup
	for x := range l.groups.Parts() {
		s.Key, s.Errors, s.Slices.slices = x.Key, s.Errors[:0], x.Slices
		for _, e := range x.Errors {
			s.Errors = append(s.Errors, savedError{e.Code, e.Total})
		}
		if err := json.MarshalEncode(enc, &s); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

// UnmarshalJSONFrom reads the groups. They must come after the limits.
func (l *groupList) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	if l.groups, err = groupby.Restore(groupby.Limits(l.of.Limits), l.of.Width, groupby.Overflow(l.of.Overflow)); err != nil {
		return err
	}
	var s savedGroup
	s.Slices.of, s.Slices.groups = &s, l.groups
	before := ""
	return eachElement(dec, func() error {
		s.Key, s.Errors, s.Slices.read = "", s.Errors[:0], false
		if err := json.UnmarshalDecode(dec, &s); err != nil {
			return err
		}
		if !s.Slices.read || before != "" && order(s.Key) <= order(before) {
			return fmt.Errorf("group %.80q has no slices, or is not in order", s.Key)
		}
		before = s.Key
		return nil
	})
}

// order returns a text by which group Other comes first.
func order(key string) string {
	if key == rollup.Other {
		return ""
	}
	return key
}

// sliceList is the slices of a savedGroup, which are written and read one by
// one.
type sliceList struct {
	slices []groupby.Slice // to be written

	of     *savedGroup // nil unless it is read
	groups *groupby.Groups
	read   bool
	saved  savedSlice    // memory to use again
	slice  groupby.Slice // the same
}

// MarshalJSONTo writes the slices.
func (l *sliceList) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for i := range l.slices {
		from, to := &l.slices[i], &l.saved
		to.Begin, to.Outcomes, to.Stages, to.Counters = from.Begin, from.Outcomes, to.Stages[:0], to.Counters[:0]
		for j := range from.Stages {
			stage := &from.Stages[j]
			d := &stage.Durations
			hi, lo := d.Sum()
			first, counts := d.Buckets()
			to.Stages = append(to.Stages, savedStage{
				stage.Name, total(stage.Self), stage.Unfinished, d.Layout().Schema, d.Min(), d.Max(), total{hi, lo}, buckets{first, counts},
			})
		}
		for _, c := range from.Counters {
			to.Counters = append(to.Counters, savedCounter{c.Name, total(c.Total)})
		}
		if err := json.MarshalEncode(enc, to); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}

// UnmarshalJSONFrom reads the slices, and adds the group to the groups. They
// must come after the key and the errors.
func (l *sliceList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	l.read = true
	part, err := l.groups.Insert(l.of.Key)
	if err != nil {
		return err
	}
	for i, e := range l.of.Errors {
		if i > 0 && e.Code <= l.of.Errors[i-1].Code {
			return fmt.Errorf("error code %.80q is not in order", e.Code)
		}
		if err := part.AddError(e.Code, e.Count); err != nil {
			return err
		}
	}
	err = eachElement(dec, func() error {
		from, to := &l.saved, &l.slice
		*from = savedSlice{Stages: from.Stages[:0], Counters: from.Counters[:0]}
		if err := json.UnmarshalDecode(dec, from); err != nil {
			return err
		}
		to.Begin, to.Outcomes, to.Stages, to.Counters = from.Begin, from.Outcomes, to.Stages[:0], to.Counters[:0]
		for j := range from.Stages {
			s := &from.Stages[j]
			stage := extend(&to.Stages)
			stage.Name, stage.Self, stage.Unfinished = s.Stage, groupby.Sum(s.Self), s.Unfinished
			if err := stage.SetDurations(s.Schema, s.Min, s.Max, groupby.Sum(s.Sum), s.Buckets.first, s.Buckets.counts); err != nil {
				return fmt.Errorf("stage %.80q: %w", s.Stage, err)
			}
		}
		for _, c := range from.Counters {
			to.Counters = append(to.Counters, groupby.Counter{Name: c.Counter, Total: groupby.Sum(c.Total)})
		}
		return part.AddSlice(to)
	})
	if err != nil {
		return err
	}
	return part.End()
}

// extend adds an element to the list, and returns it as it was when the list
// was longer, so that its memory is used again.
func extend[T any](list *[]T) *T {
	n := len(*list)
	*list = slices.Grow(*list, 1)[:n+1]
	return &(*list)[n]
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
)

// Inputs describes the input.
type Inputs struct {
	Files      int64          `json:"files"`
	Bytes      int64          `json:"bytes"` // as they are in the files
	Decisions  int64          `json:"decisions"`
	OtherLines int64          `json:"other_lines"` // well-formed JSON or plain text, but no events
	Problems   []Problem      `json:"problems"`    // by kind
	Repeats    repeats.Counts `json:"repeats"`
	Gaps       Gaps           `json:"gaps"`

	// Unrecognised says with which line a file begins that has no event.
	Unrecognised string `json:"-"`
}

// Problem is a kind of fault of the input, or of what OPA says of lost
// decisions.
type Problem struct {
	Kind  logread.Problem `json:"kind"`
	Count int64           `json:"count"`
	First []Place         `json:"first"` // at most five, by file and line
	// From and To are the first and the last time of what OPA says, in ns since
	// 1970, or 0.
	From int64 `json:"from,omitzero"`
	To   int64 `json:"to,omitzero"`
}

// Place is a line of a file, from 1.
type Place struct {
	File string `json:"file"`
	Line int64  `json:"line"`
}

// Gaps counts selected decisions of which a log tells only a part.
type Gaps struct {
	Time     int64 `json:"without_time"`
	Duration int64 `json:"without_duration"`
	Metric   int64 `json:"with_unreadable_metric"`
	Result   int64 `json:"with_hidden_result"` // a mask policy hides what the outcome depends on, or a table lacks or cuts it
	Any      int64 `json:"with_a_gap"`         // of these

	// Unplaced is the number of other decisions, which the options select or
	// not by a time that they do not have.
	Unplaced int64 `json:"not_selected_without_time"`
}

// add counts the gaps of a decision. stages has the stage of each metric, or "".
func (g *Gaps) add(e *logread.Event, stages []string) {
	timed := slices.ContainsFunc(e.Measures, func(m logread.Measure) bool { return m.Value > 0 && stages[m.Metric] != "" })
	lacks := int64(0)
	for _, gap := range [...]struct {
		n  *int64
		is bool
	}{{&g.Duration, !timed}, {&g.Time, e.Time == logread.NoTime}, {&g.Metric, e.Damaged}, {&g.Result, e.Hidden}} {
		if gap.is {
			*gap.n++
			lacks = 1
		}
	}
	g.Any += lacks
}

// merge adds o. The caller checks the totals.
func (in *Inputs) merge(o *Inputs) {
	others := o.totals()
	for i, n := range in.totals() {
		*n += *others[i]
	}
	in.Unrecognised = cmp.Or(in.Unrecognised, o.Unrecognised)
	for _, p := range o.Problems {
		in.problem(p.Kind, p.Count, p.First...).widen(p.From, p.To)
	}
}

// totals returns the numbers of in, except those of problems.
func (in *Inputs) totals() []*int64 {
	g := &in.Gaps
	return []*int64{&in.Files, &in.Bytes, &in.Decisions, &in.OtherLines, &g.Time, &g.Duration, &g.Metric, &g.Result, &g.Any, &g.Unplaced}
}

// maxTotal limits totals, so that the totals of many files can be added up.
const maxTotal = 1 << 56

// check returns an error if a total is negative or too large.
func (in *Inputs) check() error {
	totals := in.totals()
	for i := range in.Problems {
		totals = append(totals, &in.Problems[i].Count)
	}
	for _, n := range totals {
		if *n < 0 || *n > maxTotal {
			return fmt.Errorf("a total of the inputs is %d: it must be from 0 to 2^56", *n)
		}
	}
	return nil
}

// firstPlaces limits the places that are kept of a problem.
const firstPlaces = 5

// problem counts a problem and keeps the first places. Places do not come in
// order, because an event of several lines comes after the other lines between
// them.
func (in *Inputs) problem(kind logread.Problem, count int64, places ...Place) *Problem {
	i, found := slices.BinarySearchFunc(in.Problems, kind, func(p Problem, kind logread.Problem) int { return cmp.Compare(p.Kind, kind) })
	if !found {
		in.Problems = slices.Insert(in.Problems, i, Problem{Kind: kind, First: []Place{}})
	}
	p := &in.Problems[i]
	p.Count += count
	p.First = append(p.First, places...)
	slices.SortFunc(p.First, comparePlaces)
	p.First = p.First[:min(len(p.First), firstPlaces)]
	return p
}

// widen widens the times of p, unless from is 0.
func (p *Problem) widen(from, to int64) {
	if from != 0 {
		p.From, p.To = min(cmp.Or(p.From, from), from), max(p.To, to)
	}
}

// Remedy says which file is in a form that is not read, and how to read it. It
// returns "" for other problems.
func (p *Problem) Remedy() string {
	for _, m := range magics {
		if p.Kind == refused+logread.Problem(m.format) && m.remedy != "" && len(p.First) > 0 {
			return Called(p.First[0].File) + " is " + m.remedy
		}
	}
	return ""
}

// comparePlaces compares by file and line.
func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// problems returns the names and counts of those problems that are of some
// kinds, together with their sum and their times. A kind may be the beginning
// of kinds.
func (in *Inputs) problems(kinds ...logread.Problem) (names string, sum Problem) {
	var all []string
	for _, p := range in.Problems {
		if slices.ContainsFunc(kinds, func(kind logread.Problem) bool { return strings.HasPrefix(string(p.Kind), string(kind)) }) {
			all = append(all, name(string(p.Kind))+" "+text.Count(p.Count))
			sum.Count += p.Count
			sum.widen(p.From, p.To)
		}
	}
	return strings.Join(all, ", "), sum
}

// An input is a file, standard input, or a member of an archive.
type input struct {
	InputFile
	parts   []*part // in the order of the text
	members *Inputs // of an archive: the sum of its members
}

// A part is text of an input that one reader reads.
type part struct {
	Inputs  // its decisions, other lines and problems; lines count from its beginning
	input   *input
	number  int // in the input
	lines   int64
	before  int64           // the lines before it in the file, when all parts have been read
	failure logread.Problem // if the file cannot be read, or ""
}

// newPart adds a part to an input.
func (in *input) newPart() *part {
	p := &part{input: in, number: len(in.parts)}
	in.parts = append(in.parts, p)
	return p
}

// order returns the number of a part in its input, or 0 for nil.
func (p *part) order() int {
	if p == nil {
		return 0
	}
	return p.number
}

// sum returns the inputs of all parts and members, with lines of the file.
func (in *input) sum() *Inputs {
	all, line, failed := new(Inputs), int64(0), false
	for _, p := range in.parts {
		p.before = line
		for _, problem := range p.Problems {
			for i := range problem.First {
				problem.First[i].Line += line
			}
		}
		all.merge(&p.Inputs)
		line += p.lines
		if p.failure != "" && !failed { // once, also if several parts fail
			all.problem(p.failure, 1, Place{in.Name, max(line, 1)})
			failed = true
		}
	}
	if in.members != nil {
		all.merge(in.members)
		return all
	}
	if all.Decisions > 0 || line == 0 {
		all.Unrecognised = ""
		return all
	}
	all.Unrecognised = Called(in.Name) + describe(all.Unrecognised)
	if _, cut := all.problems(logread.Truncated); cut.Count > 0 {
		all.Unrecognised += "; the file ends within an object"
	}
	all.problem(NoDecisionLog, 1, Place{in.Name, 1})
	return all
}

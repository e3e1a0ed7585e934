// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"io"
	"math"

	"github.com/google/pprof/profile"
)

// WritePprof writes a profile for go tool pprof. Its functions are rules, and its
// samples are lines on one way to them, with the path as a label.
func (p *Profile) WritePprof(w io.Writer) error {
	out := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "evaluations", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		PeriodType:        &profile.ValueType{Type: "time", Unit: "nanoseconds"},
		Period:            1,
		DefaultSampleType: "time",
	}
	functions := map[int]*profile.Function{}
	locations := map[[2]int]*profile.Location{}
	locate := func(l *line) *profile.Location {
		f := functions[l.rule]
		if f == nil {
			f = &profile.Function{ID: uint64(len(functions) + 1), Name: queryName}
			if l.rule != queryRule {
				r := &p.tracers[0].policy.rules[l.rule]
				f.Name, f.Filename, f.StartLine = r.name, r.file, int64(r.row)
			}
			f.SystemName = f.Name
			functions[l.rule] = f
			out.Function = append(out.Function, f)
		}
		at := [2]int{l.rule, l.row}
		if locations[at] == nil {
			locations[at] = &profile.Location{ID: uint64(len(locations) + 1), Line: []profile.Line{{Function: f, Line: int64(l.row)}}}
			out.Location = append(out.Location, locations[at])
		}
		return locations[at]
	}
	for _, t := range p.tracers {
		t.walk(func(path string, l *line) {
			if l.time < 1 {
				return
			}
			s := &profile.Sample{Value: []int64{int64(math.Round(l.evaluated)), int64(math.Round(l.time))}, Label: map[string][]string{"path": {path}}}
			for at := l; at != nil; at = at.from {
				s.Location = append(s.Location, locate(at))
			}
			out.Sample = append(out.Sample, s)
		})
	}
	return out.Write(w)
}

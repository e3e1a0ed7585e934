// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A finding is what the report's JSON says of it.
type finding struct {
	Rule, Severity, Text, From     string // a missing severity is a fault
	Path, Server, Client, Revision string
	Figures                        map[string]float64
}

func (f *finding) fault() bool { return f.Severity != "info" }

func (f *finding) isServer(s *server) bool { return f.Server == s.id || f.Server == s.pod }

func (f *finding) named() bool { return f.Path+f.Server+f.Client+f.Revision != "" }

// A truth is what a log has.
type truth struct {
	*kind
	*scene
	planted
	decisions []decision // all; healthy logs need none
}

func (t *truth) see(d *decision) {
	if len(t.rules) > 0 {
		t.decisions = append(t.decisions, *d)
	}
}

// lasts says whether the fault lasts at the time of a decision.
func (t *truth) lasts(d *decision) bool { return d.x >= t.begin && d.x < t.end }

// A verdict says how well the findings name a planted fault.
type verdict struct {
	found, cause, time, figure bool
	judged                     bool     // the truth knows the figures
	wrong                      []string // figures, of the findings with the right cause
	others                     []string // rules of faults that are about something else
}

// judge compares the findings of a log with its truth. Of several findings of
// the fault, each question takes the best. Information that is not about the
// fault may be said of any log.
func judge(t *truth, findings []finding) (v verdict) {
	for i := range findings {
		f := &findings[i]
		cause := slices.Contains(t.rules, f.Rule)
		switch {
		// A finding of another rule and without a subject is about the fault
		// only if it begins with it.
		case t.about(f) && (cause || f.fault() && (f.named() || f.From != "" && t.timely(f))):
			v.found = true
		// One without a subject may be about the fault, and not say whose it is.
		case f.fault() && (!cause || f.named()):
			v.others = append(v.others, f.Rule)
			continue
		default:
			continue
		}
		if cause {
			wrong, judged := t.wrongFigures(f)
			v.cause, v.time = true, v.time || t.timely(f)
			v.figure, v.judged = v.figure || judged && len(wrong) == 0, v.judged || judged
			v.wrong = append(v.wrong, wrong...)
		}
	}
	return v
}

// about says whether a finding contradicts the subject in nothing. A fault
// without a subject of a kind can be found by a part of it.
func (t *truth) about(f *finding) bool {
	same := func(got string, want ...string) bool { return got == "" || want[0] == "" || slices.Contains(want, got) }
	server := f.Server == "" || t.begin > 0
	if t.server != nil {
		server = f.isServer(t.server)
	}
	return len(t.rules) > 0 && (t.subject == (subject{}) || f.named() || t.begin > 0) &&
		server && f.Client == t.client && same(f.Path, t.path) && same(f.Revision, t.revision, "main="+t.revision)
}

// times returns the times of the planted subject's decisions, how many are
// before the fault, and before the first outcome that it changed.
func (t *truth) times() (times []int64, before, unchanged int) {
	for i := range t.decisions {
		d := &t.decisions[i]
		if !t.has(d) {
			continue
		}
		if d.x < t.begin {
			before++
		} else if d.hit && unchanged == 0 {
			unchanged = len(times)
		}
		times = append(times, d.at)
	}
	return times, before, max(before, unchanged)
}

// timely says whether a finding begins with the fault: within 5 decisions of
// the subject, or within 30 of them or 2 minutes. A share of the decisions may
// begin later, so a finding may begin until the first outcome that the fault
// changed. A second is for times that are cut. A fault of the whole log needs
// no time.
func (t *truth) timely(f *finding) bool {
	from, err := time.Parse(time.RFC3339Nano, f.From)
	if t.begin == 0 || err != nil {
		return t.begin == 0
	}
	steps, around := 30, int64(2*time.Minute)
	if t.exact {
		steps, around = 5, 0
	}
	times, before, unchanged := t.times()
	start, last := t.at(t.begin), len(times)-1
	low := min(start, times[min(max(0, before-steps), last)])
	high := max(start, times[min(unchanged+steps, last)])
	got := from.UnixNano()
	return got >= low-around-int64(time.Second) && got <= high+around
}

// A side is one of the two sets of decisions that a finding compares.
type side struct {
	decisions []*decision
	part      float64 // of the span
}

func (s *side) share(of func(d *decision) bool) float64 {
	n := 0
	for _, d := range s.decisions {
		n += count(of(d))
	}
	return float64(n) / float64(len(s.decisions))
}

// sides returns the decisions that a finding names while the fault lasts, and
// these at other times. If the fault has no time, the others are those of other
// subjects on the same paths, or all if nobody else asks for these paths.
func (t *truth) sides(f *finding) (in, out side) {
	of := subject{path: f.Path, client: f.Client}
	if i := slices.IndexFunc(t.servers, f.isServer); i >= 0 {
		of.server = t.servers[i]
	}
	in.part, out.part = t.end-t.begin, 1-(t.end-t.begin)
	paths := map[*pathSpec]bool{}
	for i := range t.decisions {
		d := &t.decisions[i]
		switch {
		case t.name == driftName && d.x >= 0.25 && d.x < 0.75: // the last quarter is compared with the first
		case of.has(d) && t.lasts(d) && (t.name != driftName || d.x >= 0.75):
			in.decisions = append(in.decisions, d)
			paths[d.path] = true
		case of.has(d) || t.begin == 0:
			out.decisions = append(out.decisions, d)
		}
	}
	elsewhere := func(d *decision) bool { return !paths[d.path] }
	if others := slices.DeleteFunc(slices.Clone(out.decisions), elsewhere); t.begin == 0 && len(others) > 0 {
		out.decisions = others
	}
	return in, out
}

// figures are the true values of figures, for each of the two sides. A figure
// NAME_outside is that of the other side.
var figures = map[string]func(t *truth, f *finding, s *side) float64{
	"median_ns": median,
	"max_ns":    func(_ *truth, f *finding, s *side) float64 { return quantile(f.durations(s), 1) },
	"allowed":   func(_ *truth, _ *finding, s *side) float64 { return s.share(isOutcome(allowed)) },
	"share":     func(t *truth, _ *finding, s *side) float64 { return s.share(t.counts) },
	"decisions": func(t *truth, f *finding, s *side) float64 {
		if _, has := f.Figures["share"]; t.counts != nil && !has {
			return float64(len(s.decisions)) * s.share(t.counts) // only those that the share would count
		}
		return float64(len(s.decisions))
	},
	"per_minute": func(t *truth, _ *finding, s *side) float64 {
		return float64(len(s.decisions)) / (s.part * t.span.Minutes())
	},
	"seconds": func(t *truth, _ *finding, s *side) float64 {
		return either(t.seconds != 0, t.seconds, s.part*t.span.Seconds())
	},
	"servers": func(*truth, *finding, *side) float64 { return 1 },
}

func median(_ *truth, f *finding, s *side) float64 { return quantile(f.durations(s), 0.5) }

// wrongFigures returns the figures of a finding that are not within 5 % of the
// truth, and for which the truth is not between NAME_low and NAME_high. A
// finding of decisions above a threshold of the report is not judged.
func (t *truth) wrongFigures(f *finding) (wrong []string, judged bool) {
	if _, has := f.Figures["share"]; has && t.counts == nil {
		return nil, false
	}
	in, out := t.sides(f)
	if f.Rule == "server_missing" { // it has decisions only before
		in, out = out, in
	}
	known := 0
	check := func(name, unit string, truth func() float64) {
		got, has := f.Figures[name+unit]
		if !has {
			return
		}
		known++
		want := truth()
		low, ranged := f.Figures[name+"_low"+unit]
		if math.Abs(got-want) > 0.05*math.Abs(want) && !(ranged && low <= want && want <= f.Figures[name+"_high"+unit]) {
			wrong = append(wrong, fmt.Sprintf("%s is %.5g and not %.5g", name, got, want))
		}
	}
	for name, of := range figures {
		name, ns := strings.CutSuffix(name, "_ns")
		unit := strings.Repeat("_ns", count(ns))
		check(name, unit, func() float64 { return of(t, f, &in) })
		check(name+"_outside", unit, func() float64 { return of(t, f, &out) })
	}
	check("factor", "", func() float64 { return median(t, f, &in) / median(t, f, &out) })
	if known == 0 {
		wrong = append(wrong, "none is known")
	}
	return wrong, true
}

// durations returns the sorted durations that a finding is about, in ns.
func (f *finding) durations(s *side) (list []float64) {
	for _, d := range s.decisions {
		switch {
		case d.bare:
		case strings.HasPrefix(f.Text, "Evaluation"):
			list = append(list, d.eval+d.http)
		case f.Rule != "http_send_slow":
			list = append(list, d.handler)
		case d.http > 0 && !d.hung:
			list = append(list, d.http)
		}
	}
	slices.Sort(list)
	return list
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

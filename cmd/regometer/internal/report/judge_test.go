// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/outcome"
)

// A finding is a finding of a report.
type finding report.Finding

func (f *finding) fault() bool { return f.Severity != report.Info }

func (f *finding) isServer(s *server) bool { return f.Server == s.id || f.Server == s.pod }

func (f *finding) named() bool { return f.Path+f.Server+f.Client+f.Revision != "" }

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
}

// judge compares the findings of a log with the faults in it. Of several
// findings of a fault, each question takes the best. others are the rules of
// faults that are about something else. Information that is not about a fault
// may be said of any log.
func judge(truths []*truth, findings []report.Finding) (verdicts []verdict, others []string) {
	verdicts = make([]verdict, len(truths))
	for _, f := range findings {
		known := f.Severity == report.Info
		for i, t := range truths {
			known = t.judge((*finding)(&f), &verdicts[i]) || known
		}
		if !known {
			others = append(others, f.Rule)
		}
	}
	return verdicts, others
}

// judge judges a finding, and returns whether it may be about the fault.
func (t *truth) judge(f *finding, v *verdict) bool {
	cause := slices.Contains(t.rules, f.Rule)
	// A finding of another rule and without a subject is about the fault only if
	// it begins with it.
	if !t.about(f) || !cause && !(f.fault() && (f.named() || f.From != "" && t.timely(f))) {
		return cause && !f.named() // it may be about the fault, and not say whose it is
	}
	v.found = true
	if cause {
		wrong, judged := t.wrongFigures(f)
		v.cause, v.time = true, v.time || t.timely(f)
		v.figure, v.judged = v.figure || judged && len(wrong) == 0, v.judged || judged
		v.wrong = append(v.wrong, wrong...)
	}
	return true
}

// about says whether a finding has the subject. A fault of all names of a kind
// can be found by a part of them, if it has a begin.
func (t *truth) about(f *finding) bool {
	server := f.Server == "" || t.begin > 0
	if t.server != nil {
		server = f.isServer(t.server)
	}
	revision := f.Revision == "" || t.revision == "" || f.Revision == "main="+t.revision
	return (t.subject == (subject{}) || f.named() || t.begin > 0) && server && f.Client == t.client && (t.path == "" || f.Path == t.path) && revision
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
	drift := f.Rule == "latency_drifted" // compares the last quarter with the first
	for i := range t.decisions {
		d := &t.decisions[i]
		switch {
		case drift && d.x >= 0.25 && d.x < 0.75:
		case of.has(d) && t.lasts(d) && (!drift || d.x >= 0.75):
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
	if f.Rule == "server_missing" { // it has decisions only before
		in, out = out, in
	}
	return in, out
}

// figure returns the true value of a figure for one of the two sides.
func (t *truth) figure(name string, f *finding, s *side) float64 {
	switch name {
	case "median_ns":
		return quantile(f.durations(s), 0.5)
	case "allowed":
		return s.share(is(outcome.Allowed))
	case "share":
		return s.share(t.counts)
	case "decisions":
		if _, has := f.Figures["share"]; t.counts != nil && !has {
			return float64(len(s.decisions)) * s.share(t.counts) // only those that the share would count
		}
		return float64(len(s.decisions))
	case "per_minute":
		return float64(len(s.decisions)) / (s.part * t.span.Minutes())
	case "seconds":
		return either(t.off != 0, t.off, s.part*t.span.Seconds())
	case "servers":
		return 1
	}
	return math.NaN()
}

// wrongFigures returns the figures of a finding that are not within 5 % of the
// truth, and for which the truth is not between NAME_low and NAME_high. It
// leaves out those that the truth does not know. A finding of decisions above a
// threshold of the report is not judged.
func (t *truth) wrongFigures(f *finding) (wrong []string, judged bool) {
	if _, has := f.Figures["share"]; has && t.counts == nil {
		return nil, false
	}
	in, out := t.sides(f)
	known := 0
	for name, got := range f.Figures {
		stem, ns := strings.CutSuffix(name, "_ns")
		unit := strings.Repeat("_ns", count(ns))
		of, what := &in, strings.TrimSuffix(stem, "_outside")
		if what != stem {
			of = &out
		}
		want := t.figure(what+unit, f, of)
		if name == "factor" {
			want = t.figure("median_ns", f, &in) / t.figure("median_ns", f, &out)
		}
		if math.IsNaN(want) {
			continue
		}
		known++
		low, ranged := f.Figures[stem+"_low"+unit]
		if math.Abs(got-want) > 0.05*math.Abs(want) && !(ranged && low <= want && want <= f.Figures[stem+"_high"+unit]) {
			wrong = append(wrong, fmt.Sprintf("%s is %.5g and not %.5g", name, got, want))
		}
	}
	if known == 0 {
		wrong = append(wrong, "none is known")
	}
	if f.Path == "" && strings.Contains(f.Text, "of the same path ") {
		wrong = append(wrong, "the same path is none")
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
		default:
			list = append(list, d.handler)
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

func either(is bool, yes, no float64) float64 {
	if is {
		return yes
	}
	return no
}

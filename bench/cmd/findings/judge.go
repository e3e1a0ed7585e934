// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strings"
	"time"
)

// A finding is what the report's JSON says of it.
type finding struct {
	Rule     string             `json:"rule"`
	Severity string             `json:"severity"` // a missing one is a fault
	Text     string             `json:"text"`
	Path     string             `json:"path"`
	Server   string             `json:"server"`
	Client   string             `json:"client"`
	Revision string             `json:"revision"`
	From     string             `json:"from"`
	To       string             `json:"to"`
	Figures  map[string]float64 `json:"figures"`
}

func (f *finding) fault() bool { return f.Severity != "info" }

// A sample has figures of a set of decisions.
type sample struct {
	n              int
	outcomes       [outcomes]int
	took, eval     []float64 // ns
	http           []float64
	httpUnfinished int
	bare           int
	compiled       int
}

func (s *sample) add(d *decision) {
	s.n++
	s.outcomes[d.outcome]++
	if d.compile > 0 {
		s.compiled++
	}
	switch {
	case d.bare:
		s.bare++
		return
	case d.hung:
		s.httpUnfinished++
	case d.http > 0:
		s.http = append(s.http, d.http)
	}
	s.took = append(s.took, d.handler)
	s.eval = append(s.eval, d.eval)
}

// share returns the share of an outcome, of all decisions.
func (s *sample) share(outcome int) float64 { return float64(s.outcomes[outcome]) / float64(s.n) }

// The groups of decisions that a finding may compare.
const (
	affected = iota // of the subject, while the fault lasts
	changed         // of these, those that the fault changed
	earlier         // of the subject, at other times
	peers           // of other subjects, on the same paths, while the fault lasts
	rest            // all that are not affected
	early           // the first quarter of the log
	late            // the last quarter of the log

	groups
)

// A truth is what a log has, computed from all its decisions.
type truth struct {
	planted
	groups [groups]sample
	times  []int64 // of the subject's decisions
	all    int
	span   time.Duration
	start  int64
	stop   int64 // of the fault
	pods   map[string]string
}

func newTruth(s *scene, p planted) *truth {
	t := &truth{planted: p, span: s.span, start: s.at(p.begin), stop: s.at(p.end), pods: map[string]string{}}
	for _, server := range s.servers {
		t.pods[server.id] = server.pod
	}
	return t
}

func (s *scene) at(x float64) int64 { return s.begin.UnixNano() + int64(x*float64(s.span)) }

func (t *truth) see(g *generator, d *decision) {
	t.all++
	subject := t.scope == nil || t.scope(d)
	during := g.x >= t.begin && g.x < t.end
	add := func(group int) { t.groups[group].add(d) }
	if subject {
		t.times = append(t.times, d.at)
	}
	switch {
	case subject && during:
		add(affected)
		if d.hit {
			add(changed)
		}
	case subject:
		add(earlier)
	case during && (t.path == "" || g.paths[d.path].name == t.path):
		add(peers)
	}
	if !subject || !during {
		add(rest)
	}
	if g.x < 0.25 {
		add(early)
	}
	if g.x > 0.75 {
		add(late)
	}
}

// A verdict says how well the findings name a planted fault.
type verdict struct {
	found, cause, time, figure bool
	others                     []string // rules of faults that are about something else
}

// judge compares the findings of a log with its truth. Of several findings of
// the fault, each question takes the best.
func judge(t *truth, rules []string, findings []finding) verdict {
	var v verdict
	for i := range findings {
		f := &findings[i]
		cause := slices.Contains(rules, f.Rule)
		// A finding without any subject is about the fault only if its rule is,
		// or if it begins with it.
		named := f.Path+f.Server+f.Client+f.Revision != "" || f.From != "" && t.timely(f)
		switch {
		case !f.fault() && (!cause || !t.about(f)):
			continue // may be said of any log
		case !t.about(f) && cause && f.Path+f.Server+f.Client+f.Revision == "":
			continue // about the fault, but it does not say whose
		case !t.about(f) || !cause && !named:
			v.others = append(v.others, f.Rule)
			continue
		}
		v.found = true
		if cause {
			v.cause = true
			v.time = v.time || t.timely(f)
			v.figure = v.figure || t.rightFigures(f)
		}
	}
	return v
}

// about says whether a finding contradicts the subject in nothing. A fault
// without a subject of a kind can be found by a part of it.
func (t *truth) about(f *finding) bool {
	same := func(got, want string, names ...string) bool {
		return got == "" || want == "" || strings.Contains(got, want) || slices.Contains(names, got)
	}
	subject := t.path == "" && t.server == "" && t.client == "" && t.revision == "" || f.Path+f.Server+f.Client+f.Revision != "" || t.begin > 0
	needed := (t.server == "" || f.Server != "") && (t.client == "" || f.Client != "")
	return subject && needed && same(f.Path, t.path) && same(f.Server, t.server, t.pods[t.server]) && same(f.Client, t.client) && same(f.Revision, t.revision) &&
		(t.begin > 0 || t.server != "" || f.Server == "") && (t.client != "" || f.Client == "")
}

// timely says whether a finding begins with the fault: for a fault of outcomes
// within 5 decisions of the subject, otherwise within 30 of them or 2
// minutes. A second is for times that are cut. A fault of the whole log needs
// no time.
func (t *truth) timely(f *finding) bool {
	if t.begin == 0 {
		return true
	}
	from, err := time.Parse(time.RFC3339Nano, f.From)
	if err != nil {
		return false
	}
	steps, around := 5, time.Duration(0)
	if t.outcome < 0 {
		steps, around = 30, 2*time.Minute
	}
	times := t.times
	i, _ := slices.BinarySearch(times, t.start)
	low, high := t.start, t.start
	if len(times) > 0 {
		low = min(low, times[min(max(0, i-steps), len(times)-1)])
		high = max(high, times[min(i+steps, len(times)-1)])
	}
	got := from.UnixNano()
	return got >= low-int64(around+time.Second) && got <= high+int64(around)
}

// rightFigures says whether a finding has figures that the truth knows, and
// all of these are right: within 5 % of a true value, or it is between NAME_low
// and NAME_high.
func (t *truth) rightFigures(f *finding) bool {
	known := false
	for name, got := range f.Figures {
		if strings.HasSuffix(name, "_low") || strings.HasSuffix(name, "_high") {
			continue
		}
		values, ok := t.values(name)
		if !ok {
			continue
		}
		known = true
		low, hasLow := f.Figures[name+"_low"]
		high, hasHigh := f.Figures[name+"_high"]
		if !slices.ContainsFunc(values, func(want float64) bool {
			return math.Abs(got-want) <= 0.05*math.Abs(want) || hasLow && hasHigh && low <= want && want <= high
		}) {
			return false
		}
	}
	return known
}

// values returns the values of a figure that are true of the fault. There are
// several, because a finding may compare the subject with its past or with
// its peers, and the median of any stage. A change of a figure's name
// belongs here.
func (t *truth) values(name string) ([]float64, bool) {
	a := &t.groups[affected]
	now, then := []*sample{a, &t.groups[changed]}, []*sample{&t.groups[earlier], &t.groups[peers], &t.groups[rest]}
	if t.begin == 0 && t.end == 1 && t.scope == nil { // a drift
		now, then = []*sample{&t.groups[late]}, []*sample{&t.groups[early]}
	}
	set, of, outside := now, name, false
	if of, outside = strings.CutSuffix(name, "_outside"); outside {
		set = then
	} else if of, outside = strings.CutSuffix(name, "_outside_ns"); outside {
		set, of = then, of+"_ns"
	}
	var values []float64
	switch of {
	case "median_ns":
		for _, s := range set {
			for _, list := range [][]float64{s.took, s.eval, s.http} {
				values = append(values, median(list))
			}
		}
	case "factor":
		for _, n := range now {
			for _, s := range then {
				values = append(values, median(n.took)/median(s.took), median(n.eval)/median(s.eval))
			}
		}
	case "decisions":
		values = []float64{float64(a.n), float64(t.groups[changed].n), float64(t.groups[earlier].n), float64(a.bare), float64(a.httpUnfinished), float64(a.compiled)}
	case "per_minute":
		during := float64(t.stop-t.start) / 60e9
		values = []float64{float64(a.n) / during}
		if outside {
			values = []float64{float64(t.groups[earlier].n) / (t.span.Minutes() - during)}
		}
	case "seconds":
		values = []float64{float64(t.stop-t.start) / 1e9, t.offset}
	case "allowed":
		for _, s := range set {
			values = append(values, s.share(allowed))
		}
	case "share":
		for _, s := range set {
			values = append(values, float64(s.httpUnfinished)/float64(s.n))
			if t.outcome < 0 {
				values = append(values, float64(s.bare)/float64(s.n), float64(s.compiled)/float64(s.n), float64(t.groups[changed].n)/float64(s.n))
			} else if t.outcome == allowed {
				values = append(values, s.share(allowed), s.share(denied))
			} else {
				values = append(values, s.share(t.outcome))
			}
		}
	default:
		return nil, false
	}
	return values, true
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

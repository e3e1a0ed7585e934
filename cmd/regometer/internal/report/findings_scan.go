// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
)

const (
	snapEvents = 5  // decisions of a subject between a begin and the first decision of a revision that is taken for it,
	snapShare  = 50 // or so many of a cluster's decisions for each of them
)

// findScanned returns the findings of a scan, those of most decisions first.
func findScanned(r *Report, s *scan) (found []Finding) {
	clusters := s.findClusters()
	for _, i := range s.findPauses() {
		if f := s.describePause(r, i); f.Text != "" {
			found = append(found, f)
		}
	}
	if !slices.ContainsFunc(clusters, func(c cluster) bool { return c.kind == slow }) {
		found = append(found, s.findDrift(r))
	}
	for i := range clusters {
		s.turn(&clusters[i])
		s.narrowToPath(&clusters[i])
	}
	extra := func(c *cluster) float64 { return float64(c.in.has) - c.out.rate()*float64(c.in.all) }
	slices.SortStableFunc(clusters, func(a, b cluster) int { return cmp.Compare(extra(&b), extra(&a)) })
	compiles := slices.ContainsFunc(clusters, func(c cluster) bool { return c.kind == compiled })
	started := map[kind]bool{}
	for i := 0; i < len(clusters); i++ {
		c := &clusters[i]
		// What comes back again and again is one finding.
		times, rest := clusters[i:i+1:i+1], clusters[:i+1:i+1]
		for _, o := range clusters[i+1:] {
			if !c.isLike(o) {
				rest = append(rest, o)
			} else if !slices.ContainsFunc(times, func(t cluster) bool { return o.first <= t.last && t.first <= o.last }) {
				times = append(times, o)
			}
		}
		if c.again = len(times) - 1; c.again >= 2 {
			clusters = rest
		}
		if c.kind == shifted && slices.ContainsFunc(clusters, func(o cluster) bool { return o.kind == repeated && s.explains(&o, c) }) {
			continue
		}
		f := s.describe(r, c)
		// The largest start speaks for others.
		if f.Text == "" || compiles && c.kind == slow && f.Stage == compileStage || f.start && started[c.kind] {
			continue
		}
		started[c.kind] = started[c.kind] || f.start
		found = append(found, f)
	}
	return found
}

// isLike reports whether two clusters differ only in their times, but for the
// servers, clients and revisions.
func (c *cluster) isLike(o cluster) bool {
	path := o.subject[ofPath]
	return c.kind == o.kind && c.outcome == o.outcome && c.rare == o.rare && c.ends && o.ends && (path == c.subject[ofPath] || path == anyName)
}

// explains reports whether most decisions that have the feature of c are in o.
func (s *scan) explains(o, c *cluster) bool {
	has, both := 0, 0
	for i := c.first; i <= c.last; i++ {
		if e := &s.events[i]; c.subject.has(e) && c.of(e) == 1 {
			if has++; o.has(i, e) {
				both++
			}
		}
	}
	return float64(both) >= 0.8*float64(has)
}

func at(ns int64) string { return text.Time(ns, text.ToTheSecond) }

// second returns the second of a time.
func second(ns int64) time.Time { return time.Unix(0, ns).Truncate(time.Second) }

// attributeWords has for the attributes the word, the grouping if it is always the
// same, and the rule of slow decisions.
var attributeWords = [attributes]struct{ word, by, slower string }{
	ofPath: {word: "path"}, ofServer: {"server", "", "server_slower"}, ofClient: {"client", "requested_by", "client_slower"},
	ofRevision: {"bundle revision", "bundle", "revision_slower"}, ofKey: {"", "", "group_slower"},
}

// subject returns the names of a finding by attribute.
func (f *Finding) subject() [attributes]*string {
	return [attributes]*string{&f.Path, &f.Server, &f.Client, &f.Revision, &f.Key}
}

// describe returns the finding of a cluster, without a text if the tables
// contradict it.
func (s *scan) describe(r *Report, c *cluster) (f Finding) {
	from, to := s.period(r, c)
	f.setTimes(from, to)
	f.Severity, f.Figures = Fault, map[string]float64{}
	var subjects, paths []string
	by := s.servers.by()
	for a, is := range f.subject() {
		if c.subject[a] == anyName && !(a == ofRevision && c.timed()) {
			continue
		}
		*is = s.findCommon(c, a)
		if *is == "" && c.subject[a] == anyName {
			continue
		}
		if m, ok := r.member(a, *is); ok && c.subject[a] == anyName { // nobody had the revision before
			from, to = max(from, m.First), min(to, m.Last)
			f.setTimes(from, to)
			c.first, c.last = max(c.first, s.from(from)), min(c.last, s.from(to+1)-1)
		}
		subjects = append(subjects, attributeWords[a].word+" "+name(cmp.Or(*is, none)))
		if a == ofServer {
			subjects[len(subjects)-1] += s.servers.idOf(*is)
		}
		if by = cmp.Or(attributeWords[a].by, by); a == ofKey {
			by = r.By
			subjects[len(subjects)-1] = name(by) + " " + name(*is)
		}
	}
	what := "the decisions"
	if len(subjects) > 0 {
		what += " of " + strings.Join(subjects, " and ")
	}
	if f.Path != "" {
		paths = []string{patternOf(f.Path)}
	}
	// A name that begins or ends far from the ends of the log has times too, but
	// a client asks when it likes.
	far := (r.To - r.From) / 50
	if c.subject[ofClient] != anyName {
		far = r.To - r.From
	}
	begins, ends := c.begins || from-r.From > far, c.ends || r.To-to > far
	when, since, until := "", time.Time{}, time.Time{}
	if begins {
		when, since = fmt.Sprintf("From %s UTC on, ", at(from)), second(from)
	}
	if ends {
		when, until = fmt.Sprintf("Until %s UTC, ", at(to)), second(to).Add(time.Second)
	}
	if begins && ends {
		when = fmt.Sprintf("From %s to %s UTC, ", at(from), at(to))
	}
	var said bool
	mild := c.over == math.Log(slowLow)
	if c.kind == slow && (mild || c.in.rate() >= 0.5) {
		said = s.describeSlow(r, c, &f, what, from, to)
	}
	if c.kind != slow || !said && !mild {
		said = s.describeShare(r, c, &f, what, from, to)
	}
	if !said {
		return Finding{}
	}
	if when == "" {
		f.Text = strings.ToUpper(f.Text[:1]) + f.Text[1:]
	}
	if f.Text = when + f.Text; c.again >= 2 {
		f.Text += fmt.Sprintf(" The like happened %s more, there or elsewhere.", text.Plural(c.again, "time"))
		f.Figures["again"] = float64(c.again)
	}
	if !s.complete {
		shows := " A sample of %s shows this."
		if _, estimated := f.Figures["share_low"]; c.kind == shifted && !estimated {
			shows = " The times are those of a sample of %s."
		}
		f.Text += fmt.Sprintf(shows, text.Plural(len(s.events), "decision"))
		f.Figures["sample"] = float64(len(s.events))
	}
	r.suggest(&f, by, paths, since, until)
	return f
}

// turn makes a cluster of allowed or denied decisions that ends before the log
// one of the outcome that rose then, because people ask for what changed.
func (s *scan) turn(c *cluster) {
	if c.kind != shifted || c.begins || !c.ends || c.outcome > outcome.Neither {
		return
	}
	before, after := s.outcomes(c)
	for o := range after {
		if after.share(outcome.Outcome(o))-before.share(outcome.Outcome(o)) > after.share(c.outcome)-before.share(c.outcome) {
			c.outcome = outcome.Outcome(o)
		}
	}
	own := s.narrow(c.subject)
	for _, i := range own {
		if int(i) > c.last && c.subject.has(&s.events[i]) {
			c.first, c.last = int(i), len(s.events)-1
			break
		}
	}
	c.begins, c.ends = true, false
	c.in = tally{int(after.sum()), int(after[c.outcome])}
	c.out = tally{int(before.sum()), int(before[c.outcome])}
}

// narrowToPath gives a cluster the path that has nearly all of the decisions
// that its outcome has too many of.
func (s *scan) narrowToPath(c *cluster) {
	if c.kind != shifted || !c.timed() || c.subject[ofPath] != anyName {
		return
	}
	in, out := make([]tally, len(s.values[ofPath])), make([]tally, len(s.values[ofPath]))
	for i := range s.events {
		e := &s.events[i]
		of := out
		if c.has(i, e) {
			of = in
		} else if !c.subject.has(e) {
			continue
		}
		of[e.names[ofPath]] = of[e.names[ofPath]].plus(tally{1, max(0, int(c.of(e)))})
	}
	most, sum, at := 0.0, 0.0, 0
	for n, t := range in {
		extra := max(0, float64(t.has)-float64(t.all)*out[n].rate())
		if sum += extra; extra > most {
			most, at = extra, n
		}
	}
	if most >= 0.95*sum && s.values[ofPath][at].name != "" && out[at].all >= scanLeast {
		c.subject[ofPath] = int32(at)
	}
}

// period returns the times of a cluster. Those of names are exact. If a
// revision begins next to the begin of a cluster, it begins there.
func (s *scan) period(r *Report, c *cluster) (from, to int64) {
	from, to = r.From, r.To
	for a, n := range c.subject {
		if n != anyName {
			if m, ok := r.member(a, s.values[a][n].name); ok {
				from, to = max(from, m.First), min(to, m.Last)
			}
		}
	}
	if c.ends {
		to = s.events[c.last].time
	}
	if !c.begins {
		return from, to
	}
	from = s.events[c.first].time
	own := s.narrow(c.subject)
	at, _ := slices.BinarySearch(own, int32(c.first))
	near := max(snapEvents, min(c.in.all/snapShare, 100))
	low, high := s.events[own[max(0, at-near)]].time, s.events[own[min(len(own)-1, at+near)]].time
	for _, v := range r.Revisions {
		if v.First > low && v.First <= high {
			from = v.First
			c.first = s.from(from)
		}
	}
	return from, to
}

// from returns the index of the first event from a time on.
func (s *scan) from(time int64) int {
	at, _ := slices.BinarySearchFunc(s.events, time, func(e event, t int64) int { return cmp.Compare(e.time, t) })
	return at
}

// member returns all decisions of a path, server, client, revision or group.
func (r *Report) member(attribute int, name string) (m seen, ok bool) {
	switch attribute {
	case ofServer:
		at := slices.IndexFunc(r.servers.list, func(x Member) bool { return x.Name == name })
		if ok = at >= 0; ok {
			m = r.servers.list[at].seen
		}
	case ofClient:
		at := r.clients.find(Hash(0, []byte(name)))
		if ok = at >= 0; ok {
			m = r.clients.sums[at]
		}
	default:
		if ok = r.who[attribute].Has(name); ok {
			g := r.who[attribute].Get(name, false, nil)
			m = seen{g.First, g.Last, g.Outcomes}
		}
	}
	return m, ok
}

// outcomes counts the outcomes in a cluster and of the decisions with which it
// is compared.
func (s *scan) outcomes(c *cluster) (in, out outcomes) {
	for i := range s.events {
		switch e := &s.events[i]; {
		case c.has(i, e):
			in[e.outcome]++
		case c.others().has(e):
			out[e.outcome]++
		}
	}
	return in, out
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file turns clusters into findings: whose they are, and when.

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

// findByTime returns the findings that compare times, servers, clients and so
// on: those of clusters by the number of decisions.
func (s *scan) findByTime(r *Report) (found []Finding) {
	clusters := s.findClusters()
	// What is found on all paths at a time, after it was found on one, is one fault.
	parts := slices.Clone(clusters)
	clusters = slices.DeleteFunc(clusters, func(c cluster) bool {
		return c.subject[ofPath] != anyName && slices.ContainsFunc(parts, func(o cluster) bool { return o.subject[ofPath] == anyName && s.isBeside(&c, &o) })
	})
	extra := func(c *cluster) float64 { return c.in.has - c.out.rate()*c.in.all }
	slices.SortStableFunc(clusters, func(a, b cluster) int { return cmp.Compare(extra(&b), extra(&a)) })
	compiles, started, slower := slices.ContainsFunc(clusters, func(c cluster) bool { return c.kind == compiled }), map[kind]bool{}, false
	revision := revisionSlower(r)
	for i := 0; i < len(clusters); i++ {
		c := &clusters[i]
		// What comes back again and again is one finding, and so is what several
		// paths have at the same time.
		var others []cluster
		c.again, others = absorb(clusters, i, c.isLike)
		c.beside, others = absorb(others, i, func(o *cluster) bool { return s.isBeside(c, o) })
		if slices.ContainsFunc(clusters, func(o cluster) bool {
			return (o.kind == repeated && c.kind == shifted || o.kind == unfinished && (c.kind == slow || c.outcome >= outcome.Failed)) && s.explains(&o, c)
		}) {
			continue
		}
		f := s.describe(r, c)
		if f.Text == "" {
			continue
		}
		clusters = others
		if c.kind == slow && f.Revision == revision.Revision && f.Path+f.Server+f.Client != "" {
			revision = Finding{} // the scan says more
		}
		// The largest start speaks for others, and a revision for its paths.
		if compiles && c.kind == slow && f.Stage == compileStage || f.start && started[c.kind] ||
			f.Stage == evaluationStage && f.Rule == revision.Rule && f.Revision == revision.Revision {
			continue
		}
		started[c.kind], slower = started[c.kind] || f.start, slower || c.kind == slow && f.Severity == Fault
		found = append(found, f)
		if stays := s.findUnchanged(c); stays != nil {
			found = append(found, s.describe(r, stays))
		}
	}
	if !slower {
		found = append(found, s.findDrift(r))
	}
	found = append(append(found, revision), s.findPauses(r)...)
	off := clockOff(r)
	if found = append(found, off); off.Text == "" {
		found = append(found, s.findMissing(r), s.rateFell(r))
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Text == "" })
}

// absorb returns the clusters behind the i-th one that are something, if these are
// several, and all others.
func absorb(clusters []cluster, i int, is func(*cluster) bool) (found, others []cluster) {
	for k := range clusters {
		if c := &clusters[k]; k > i && is(c) {
			found = append(found, *c)
		} else {
			others = append(others, *c)
		}
	}
	if len(found) < 2 {
		return nil, clusters
	}
	return found, others
}

// isLike reports whether two clusters are alike, whoever has them: a user who asks
// for several paths again and again makes such clusters.
func (c *cluster) isLike(o *cluster) bool {
	return c.kind == o.kind && c.outcome == o.outcome && c.ends && o.ends
}

// isBeside reports whether two clusters differ only in their paths.
func (s *scan) isBeside(c, o *cluster) bool {
	subject := o.subject
	subject[ofPath] = c.subject[ofPath]
	return c.kind == o.kind && c.outcome == o.outcome && subject == c.subject &&
		c.begins == o.begins && c.ends == o.ends && (!c.begins || s.isNear(c.first, o.first)) && (!c.ends || s.isNear(c.last, o.last))
}

// findUnchanged returns a cluster of the servers, fewer than half of all, on which
// an outcome stayed as it was when it changed elsewhere, or nil. They were like the
// others before, and differ from them since.
func (s *scan) findUnchanged(c *cluster) *cluster {
	if c.kind != shifted || c.subject[ofServer] != anyName || c.subject[ofClient] != anyName || !c.timed() && c.subject[ofRevision] == anyName {
		return nil
	}
	u := *c
	u.subject, u.begins = all, true
	u.subject[ofPath] = c.subject[ofPath]
	u.parent = u.subject
	servers := s.sums(&u, ofServer)
	var sum [inside + 1]tally
	for _, of := range servers {
		sum[before], sum[inside] = sum[before].plus(of[before]), sum[inside].plus(of[inside])
	}
	var found []cluster
	for n, of := range servers {
		now, then := of[inside], of[before]
		if now.rate() < sum[inside].rate() && s.ratio(now, sum[inside]) >= scanScore+math.Log(float64(len(servers))) &&
			s.ratio(then, sum[before]) < scanScore && s.ratio(now, now.plus(then)) < scanScore {
			u.subject[ofServer], u.events, u.stays = int32(n), s.values[ofServer][n].events, true
			found = append(found, u)
		}
	}
	if len(found) == 0 || 2*len(found) >= len(servers) {
		return nil
	}
	u, most := found[0], 0.0
	for o := range outcome.Cancelled + 1 { // the one that it has more often
		f := u
		f.feature = &features[o]
		if s.count(&f); f.in.rate()-f.out.rate() > most {
			most, u.feature = f.in.rate()-f.out.rate(), f.feature
		}
	}
	u.beside = found[1:]
	return &u
}

// explains reports whether most decisions that have the feature of c have that of
// o in o.
func (s *scan) explains(o, c *cluster) bool {
	both, all := 0, 0
	for _, e := range s.events {
		if c.has(e) && c.of(e) == 1 {
			if all++; o.has(e) && o.of(e) == 1 {
				both++
			}
		}
	}
	return 2*both > all
}

// attributeWords has for the attributes the word, the grouping if it is always the
// same, and the rule of slow decisions.
var attributeWords = [attributes]struct{ word, by, slower string }{
	ofPath: {"path", "", "latency_rose"}, ofServer: {"server", "", "server_slower"}, ofClient: {"client", "requested_by", "client_slower"},
	ofRevision: {"bundle revision", "bundle", "revision_slower"}, ofKey: {"", "", "group_slower"},
}

// subject returns the names of a finding by attribute.
func (f *Finding) subject() [attributes]*string {
	return [attributes]*string{&f.Path, &f.Server, &f.Client, &f.Revision, &f.Key}
}

// describe returns the finding of a cluster, without a text if the tables
// contradict it.
func (s *scan) describe(r *Report, c *cluster) (f Finding) {
	from, to, names := s.period(r, c)
	f.Severity, f.Figures = Fault, map[string]float64{}
	f.setTimes(from, to)
	var paths []string
	began, what, separator := "", "the decisions", " of "
	by, slower := s.servers.by(), attributeWords[ofPath].slower
	for a, is := range f.subject() {
		if names[a] == anyName {
			continue
		}
		*is = s.values[a][names[a]].name
		words := attributeWords[a]
		said := words.word + " " + name(cmp.Or(*is, none))
		switch a {
		case ofPath:
			paths = []string{patternOf(*is)}
		case ofServer:
			said += s.servers.idOf(*is)
		case ofKey:
			words.by, said = r.By, name(r.By)+" "+name(*is)
		}
		if by, slower = cmp.Or(words.by, by), words.slower; c.subject[a] == anyName {
			began = "beginning with " + said + ", "
		} else {
			what, separator = what+separator+said, " and "
		}
	}
	when, since, until := "", time.Time{}, time.Time{}
	if c.begins {
		when, since = fmt.Sprintf("From %s UTC on, ", at(from)), second(from)
	}
	if c.ends {
		when, until = fmt.Sprintf("Until %s UTC, ", at(to)), second(to).Add(time.Second)
	}
	if c.begins && c.ends {
		when = fmt.Sprintf("From %s to %s UTC, ", at(from), at(to))
	}
	others, same := "the others", ""
	if c.kind == slow {
		if same = " of the same paths"; c.subject[ofPath] != anyName {
			same = " of the same path"
		}
	}
	if others += same; c.timed() {
		others = "those" + same + " at other times"
	}
	var said, advice string
	if f.Rule = slower; c.kind == slow {
		said, advice = s.sayTimes(c, &f, what, others)
	} else {
		said, advice = s.sayShare(r, c, &f, what, others, from, to)
	}
	if said == "" {
		return Finding{}
	}
	if when == "" {
		said = strings.ToUpper(said[:1]) + said[1:]
	}
	f.Text = when + began + said + cmp.Or(s.usual(r, c, &f, from, to), advice)
	if c.again != nil {
		f.Text += fmt.Sprintf(" There are %s like it, at other times or elsewhere.", text.Plural(len(c.again), "other"))
	}
	if n := len(c.beside); n > 0 {
		of := ofPath
		if c.stays {
			of = ofServer
		}
		word := attributeWords[of].word
		f.Text += fmt.Sprintf(" It is the same with %s: %s.", text.Plural(n, "other "+word), listed(c.beside, func(o cluster) string { return name(s.values[of][o.subject[of]].name) }))
		f.Figures["other_"+word+"s"] = float64(n)
	}
	f.Text += s.sayOfSample(f.Figures)
	r.suggest(&f, by, paths, since, until)
	return f
}

// period returns the times of a cluster, and its names. The times of names are
// exact.
func (s *scan) period(r *Report, c *cluster) (from, to int64, names subject) {
	from, to, names = r.From, r.To, c.subject
	for a, n := range c.subject {
		if n != anyName {
			if m, _, _ := r.member(a, s.values[a][n].name); m.Decisions() > 0 {
				from, to = max(from, m.First), min(to, m.Last)
			}
		}
	}
	if c.ends {
		to = s.events[c.last].time
	}
	if !c.begins {
		return from, to, names
	}
	for i, since := c.first, s.events[c.first].time-int64(time.Minute); c.kind == repeated && i >= 0 && s.events[i].time >= since; i-- {
		if e := s.events[i]; c.subject.has(e) && e.again && !e.asked { // by a new client, whose first minute does not count
			c.first = i
		}
	}
	if from = s.events[c.first].time; c.stays {
		return from, to, names
	}
	own := c.events
	if at, _ := slices.BinarySearch(own, int32(c.first)); s.share < 1 && at > 0 { // of those that are not in the sample
		from -= (from - s.events[own[at-1]].time) / 2
	}
	if c.revision > 0 {
		m, _, _ := r.member(ofRevision, s.values[ofRevision][c.revision].name)
		from, names[ofRevision] = m.First, c.revision
		c.first = s.from(from)
	}
	return from, to, names
}

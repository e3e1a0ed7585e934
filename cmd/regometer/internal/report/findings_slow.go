// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file describes clusters of slow decisions, durations that drift, and
// revisions that evaluate slower.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

const (
	startShare = 0.8 // of the decisions of a start are of cold servers, at least
	medianRose = 1.3 // by which a median must differ to describe slow decisions
	loadTimes  = 1.5 // a load is high if so many times as many decisions come as at other times
)

// starts reports whether a cluster is a start: most of what it has came soon
// after the server began or changed its revision. Or each server compiles each
// query about once for each time that its revision changes, as after a restart
// with the same id, and this makes up a good part of it, or a short one begins
// with it. Queries that are compiled more often are no start.
func (s *scan) starts(c *cluster) bool {
	type query struct{ server, path int32 }
	cached, queries := map[query]int32{}, map[query]bool{} // with the revision, plus 1; and those of the servers
	n, first, all, soon := 0.0, 0.0, 0.0, 0.0
	servers := c.subject // with all paths
	servers[ofPath] = anyName
	for _, e := range s.events[max(0, c.first-(c.last-c.first)/4) : c.last+1] { // a compilation may not be slow
		if c.has(e) && c.of(e) == 1 {
			if all++; e.cold {
				soon++
			}
		}
		q, revision, compiles := query{e.names[ofServer], e.names[ofPath]}, e.names[ofRevision]+1, e.parts[ofCompile] > 0
		if cached[q] != revision { // the server's cache became empty
			cached[q] = 0
		}
		if servers.has(e) {
			queries[q] = true
			if compiles {
				n++
			}
			if compiles && cached[q] == 0 {
				first++
			}
		}
		if compiles {
			cached[q] = revision
		}
	}
	once := n <= 2*first
	if much := once && 4*n >= c.in.has; much || c.kind == compiled {
		return much
	}
	short := s.events[c.last].time-s.events[c.first].time <= int64(startLong)
	most := first > 0 && 2*first >= s.share*float64(len(queries)) // the sample has a share of them
	return short && once && most || soon >= startShare*all
}

// busy returns how many times as many decisions came in some time as at other
// times.
func (s *scan) busy(from, to int64) float64 {
	first, last := s.events[0].time, s.events[len(s.events)-1].time
	n, inside := float64(s.from(to+1)-s.from(from)), float64(to)-float64(from)
	rest := float64(last) - float64(first) - inside
	return n / max(1, inside) / ((float64(len(s.events)) - n + 1) / max(1, rest))
}

// usual returns why a cluster is usual in operation, or "". Then its finding is
// information.
func (s *scan) usual(r *Report, c *cluster, f *Finding, from, to int64) (why string) {
	times := s.busy(from, to)
	client, _, _ := r.member(ofClient, f.Client)
	switch {
	case c.kind == shifted && c.outcome < outcome.Failed && f.Client != "" && f.Server == "" && (!c.timed() || 2*client.Decisions() < r.Total.Decisions):
		why = " Clients may change what they ask for."
	case (c.kind == slow || c.kind == compiled) && s.starts(c):
		f.start, why = true, " Servers began or changed their revision then, and their caches were empty."
	case c.kind == slow && !c.begins && c.ends && to-r.From <= int64(startLong)+(r.To-r.From)/scanBins:
		why = " The log begins with them, so its servers may have begun then too."
	case c.kind == slow && c.ends && times >= loadTimes:
		why = fmt.Sprintf(" %.1f times as many decisions came as at other times.", times)
	case c.kind == slow && f.Client != "" && !c.timed() && to-from < (r.To-r.From)/2:
		why = " It came only for a part of the log, as a batch does."
	}
	if why != "" {
		f.Severity = Info
	}
	return why
}

// compare sets the figures of a quantile of two sets of durations, with intervals
// if they are those of a sample.
func (s *scan) compare(f *Finding, q float64, in, out *took) {
	inLow, inHigh := in.interval(q)
	outLow, outHigh := out.interval(q)
	f.set("median", "_ns", s.share < 1, in.quantile(q), inLow, inHigh)
	f.set("median_outside", "_ns", s.share < 1, out.quantile(q), outLow, outHigh)
	f.set("factor", "", s.share < 1, in.quantile(q)/out.quantile(q), inLow/max(1, outHigh), inHigh/max(1, outLow))
}

// sayTimes says which median the decisions of a slow cluster have, or the slow
// ones if these are few, and what to do. It returns "" if they are hardly slower
// than as many others.
func (s *scan) sayTimes(c *cluster, f *Finding, what, others string) (said, advice string) {
	q, part := 0.5, ""
	if share := c.in.rate(); share < 0.5 {
		q, part = 1-share/2, "the slowest "+text.Percent(share)+" of "
		f.setShare("share", c.in, s.share < 1)
	}
	in, out := s.durationsOf(c.side, c.outside())
	if len(in.all) == 0 || len(out.all) == 0 || in.quantile(q) < medianRose*out.quantile(q) {
		return "", ""
	}
	s.compare(f, q, &in, &out)
	why, advice := f.explain(&in, &out)
	return fmt.Sprintf("%s%s had a median of %s (%s%s), and %s%s of %s.%s", part, what, text.Duration(in.quantile(q)), s.about(),
		text.Plural(uint64(s.setDecisions(f, math.Round(in.weight*2*(1-q)))), "decision"), part, others, text.Duration(out.quantile(q)), why), advice
}

// explain says which stage takes most of a difference, and what to do.
func (f *Finding) explain(in, out *took) (why, advice string) {
	part, most := 0, 0.0
	for i, x := range in.parts {
		if x-out.parts[i] > most {
			part, most = i, x-out.parts[i]
		}
	}
	if most <= 0 {
		return "", ""
	}
	f.Stage = append(partStages[:], handlerStage)[part]
	why = fmt.Sprintf(" Most of the difference is in stage %s: %s a decision on average, and %s.", name(f.Stage), text.Duration(in.parts[part]), text.Duration(out.parts[part]))
	if part == ofEvaluation && f.Server != "" && f.Path == "" { // a rule would be slow on all servers
		part = parts
	}
	return why, stageAdvice[part]
}

const (
	driftBlocks = 8    // parts of the decisions, by time,
	driftSwaps  = 2    // of which so many pairs may be in the wrong order (Mann 1945)
	driftTimes  = 1.25 // the duration in the last quarter divided by that in the first
)

// findDrift reports that durations grew slowly from the begin to the end, those of
// all decisions or else of a path.
func (s *scan) findDrift(r *Report) (f Finding) {
	for i, t := range s.targets {
		if path := t.subject[ofPath]; i == 0 || path != anyName && t.parent == all {
			if f = s.driftOf(r, t); f.Text != "" {
				break
			}
		}
	}
	return f
}

// driftOf reports that durations of a target grew.
func (s *scan) driftOf(r *Report, t target) (f Finding) {
	n := len(t.events)
	size := n / driftBlocks
	if size < 2*scanLeast {
		return f
	}
	var blocks []tally
	swaps := 0
	for part := range slices.Chunk(t.events[:size*driftBlocks], size) {
		var over tally
		for _, i := range part {
			over.add(s.events[i].over)
		}
		for _, before := range blocks {
			if before.rate() >= over.rate() {
				swaps++
			}
		}
		blocks = append(blocks, over)
	}
	// The means, which are known, must differ too: sorting for the medians takes long.
	if swaps > driftSwaps || blocks[driftBlocks-1].rate()-blocks[0].rate() < math.Log(driftTimes)/2 {
		return f
	}
	first, last := int(t.events[n/4]), int(t.events[n-n/4])
	in, out := s.durationsOf(func(e *event) side {
		switch {
		case !t.subject.has(e) || e.at >= first && e.at < last:
			return elsewhere
		case e.at < first:
			return before
		}
		return inside
	}, before)
	if len(in.all) == 0 || len(out.all) == 0 || in.quantile(0.5) < driftTimes*out.quantile(0.5) {
		return f
	}
	f = Finding{Rule: "latency_drifted", Figures: map[string]float64{}}
	f.setTimes(r.From, r.To)
	var paths []string
	of := "of the same paths"
	if path := t.subject[ofPath]; path != anyName {
		f.Path = s.values[ofPath][path].name
		paths, of = []string{patternOf(f.Path)}, "of path "+name(f.Path)
	}
	s.compare(&f, 0.5, &in, &out)
	f.Text = fmt.Sprintf("Durations grew from the begin of the log to its end: the median of the first quarter is %s, and of the last quarter %s, for decisions %s. "+
		"Look for data that grow, for a leak, or for a load that grows. A part of a day may look like this too.%s",
		text.Duration(out.quantile(0.5)), text.Duration(in.quantile(0.5)), of, s.sayOfSample(f.Figures))
	r.suggest(&f, "hour", paths, time.Time{}, time.Time{})
	return f
}

const (
	revisionCount = 500                   // evaluations of each revision
	revisionTimes = 1.2                   // the median divided by the median before
	revisionNear  = 10                    // slices of each revision that are nearest to the change
	revisionStep  = 0.5                   // the change of their median, in parts of the change of the whole median
	revisionMore  = 20 * time.Microsecond // the median minus the median before
)

// revisionSlower compares the evaluations of each revision with those of the one
// before it, and reports the revision that is slower by the largest factor.
func revisionSlower(r *Report) (f Finding) {
	if len(r.Revisions) < 2 {
		return f
	}
	parts, factor := Timed(r.Slices()), revisionTimes
	for i := range r.Revisions[1:] {
		a, b := &r.Revisions[i], &r.Revisions[i+1]
		old, current := &a.Evaluation.Durations, &b.Evaluation.Durations
		was, is := old.Quantile(0.5), current.Quantile(0.5)
		if a.First == logread.NoTime || min(old.Count(), current.Count()) < revisionCount || is < factor*was || is-was < float64(revisionMore) {
			continue
		}
		end := b.Last + 1
		if i+2 < len(r.Revisions) {
			end = min(end, r.Revisions[i+2].First)
		}
		// A slice with decisions of both revisions counts for neither. A daily season
		// changes the medians too, but not in a step.
		before, after := evaluationsOf(parts, a.First-r.Width+1, b.First-r.Width+1), evaluationsOf(parts, b.First, end)
		if min(len(before), len(after)) < contrast.MinSlices || medianOf(before, after).Low <= 0 {
			continue
		}
		near := medianOf(before[max(0, len(before)-revisionNear):], after[:min(len(after), revisionNear)])
		if near.After < near.Before*(1+(is/was-1)*revisionStep) {
			continue
		}
		factor = is / was
		f = r.newFinding("revision_slower", b.First, b.Last, "bundle", time.Time{},
			map[string]float64{"factor": factor, "median_ns": math.Round(is), "median_outside_ns": math.Round(was), "decisions": float64(current.Count())},
			"Evaluation became slower with bundle revision %s, at %s UTC. Its median rose from %s to %s (%s evaluations). "+
				"Unless the requests changed too, go back to revision %s, and find out with `regometer replay --against` what the change made slower.",
			name(b.Name), at(b.First), text.Duration(was), text.Duration(is), text.Count(current.Count()), name(a.Name))
		f.Revision = b.Name
	}
	return f
}

// evaluationsOf returns the evaluations in each of the slices that begin at from
// or later, and before to.
func evaluationsOf(parts []groupby.Slice, from, to int64) (found []*exphist.Snapshot) {
	for _, s := range parts {
		if d := &Stage(s.Stages, evaluationStage).Durations; s.Begin >= from && s.Begin < to && d.Count() > 0 {
			found = append(found, d)
		}
	}
	return found
}

// medianOf compares the medians. If they cannot be compared, it finds no change.
func medianOf(before, after []*exphist.Snapshot) (d contrast.Difference) {
	if x := contrast.NewQuantiles(before, after); x != nil {
		d = x.Compare(0.5, contrast.Error/scanTests)
	}
	return d
}

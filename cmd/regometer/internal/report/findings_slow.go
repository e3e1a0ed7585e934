// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file describes clusters of slow decisions, and durations that drift.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
)

const (
	startLong      = 3 * time.Minute // a server is cold for this time after its first decision with a revision,
	startDecisions = 100             // or for so many decisions,
	startNear      = time.Minute     // unless this is the first minute of the log, since it may have begun long before
	startShare     = 0.8             // of the decisions of a start are of cold servers, at least
	medianRose     = 1.3             // by which a median must differ to describe slow decisions
	loadTimes      = 1.5             // a load is high if so many times as many decisions come as at other times
)

// starts reports whether a cluster is a start: most of what it has came soon
// after the server began or changed its revision. Or each server compiles each
// query about once for each time that its revision changes, as after a restart
// with the same id, and this makes up a good part of it, or a short one begins
// with it. Queries that are compiled more often are no start.
func (s *scan) starts(r *Report, c *cluster) bool {
	type query struct{ server, path int32 }
	cached := map[query]int32{}                                 // with the revision, plus 1
	begins, decisions := map[query]int64{}, map[query]float64{} // of each server with a revision
	n, first, queries, all, soon := 0, 0, 0, 0, 0
	servers := c.subject // with all paths
	servers[ofPath] = anyName
	for i := range s.events[:c.last+1] {
		e := &s.events[i]
		q, own := query{e.names[ofServer], e.names[ofPath]}, e.names[ofRevision]+1
		server := query{q.server, own}
		if _, ok := begins[server]; !ok {
			if begins[server] = e.time; e.time <= r.From+int64(startNear) { // it may have begun long ago
				begins[server], decisions[server] = r.From-int64(startLong), startDecisions
			}
		}
		decisions[server] += 1 / s.share
		if i < c.first-(c.last-c.first)/4 { // a compilation may not be slow
			continue
		}
		if c.has(i, e) && c.of(e) == 1 {
			if all++; decisions[server] <= startDecisions || e.time-begins[server] <= int64(startLong) {
				soon++
			}
		}
		if _, ok := cached[q]; !ok && servers.has(e) {
			queries++
		}
		if cached[q] != own { // the server's cache became empty
			cached[q] = 0
		}
		if e.parts[ofCompile] > 0 {
			if servers.has(e) {
				if n++; cached[q] == 0 {
					first++
				}
			}
			cached[q] = own
		}
	}
	if once := n <= 2*first && n >= c.in.has/4; once || c.kind == compiled {
		return once
	}
	compiles := n <= 2*first && first > 0 && 2*float64(first) >= s.share*float64(queries) // the sample has a share of them
	short := s.events[c.last].time-s.events[c.first].time <= int64(startLong)
	return short && compiles || float64(soon) >= startShare*float64(all)
}

// busy returns how many times as many decisions came in the times of a cluster
// as at other times.
func (s *scan) busy(c *cluster, from, to int64) float64 {
	first, last := s.events[0].time, s.events[len(s.events)-1].time
	n, inside := float64(c.last-c.first+1), float64(to)-float64(from)
	rest := float64(last) - float64(first) - inside
	return n / max(1, inside) / ((float64(len(s.events)) - n + 1) / max(1, rest))
}

// usual returns why a cluster is usual in operation, or "". Then its finding is
// information.
func (s *scan) usual(r *Report, c *cluster, f *Finding, from, to int64) (why string) {
	times := s.busy(c, from, to)
	client, _, _ := r.member(ofClient, f.Client)
	switch {
	case c.kind == shifted && c.outcome < outcome.Failed && f.Client != "" && f.Server == "" && (!c.timed() || 2*client.Decisions() < r.Total.Decisions):
		why = " Clients may change what they ask for."
	case c.kind == shifted && f.Server != "" && !c.timed() && s.isSticky(c):
		why = " Its clients ask no other server, so they may be what differs."
	case (c.kind == slow || c.kind == compiled) && s.starts(r, c):
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
		f.setShare("share", share, s.share < 1, c.in.all)
	}
	in, out := s.durationsOf(c.has, func(_ int, e *event) bool { return c.others().has(e) })
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

// stageAdvice says what to do if decisions are slow because of a part of
// partStages, or because of the rest.
var stageAdvice = [parts + 1]string{
	ofEvaluation: " Find the rules and lines that take the time with `regometer replay --policy`, the policy and this log.",
	ofHTTP:       " Look at the other server, and set `timeout` in the call so that decisions do not wait longer than they may.",
	ofCompile:    " Policies or data changed, or the paths of requests have ids in them.",
	ofInput:      " Inputs became larger, or clients send them slowly.",
	parts:        " Check whether OPA waits for a processor: its CPU limit, its neighbours, and garbage collection.",
}

const (
	driftBlocks = 8   // parts of the decisions, by time,
	driftSwaps  = 2   // of which so many pairs may be in the wrong order (Mann 1945)
	driftTimes  = 1.5 // the duration in the last quarter divided by that in the first
)

// findDrift reports that durations grew slowly from the begin to the end.
func (s *scan) findDrift(r *Report) (f Finding) {
	var known []int
	for i := range s.events {
		if !math.IsNaN(s.events[i].over) {
			known = append(known, i)
		}
	}
	size := len(known) / driftBlocks
	if size < 2*scanLeast {
		return f
	}
	var sums []float64
	swaps := 0
	for part := range slices.Chunk(known[:size*driftBlocks], size) {
		sum := 0.0
		for _, i := range part {
			sum += s.events[i].over
		}
		for _, before := range sums {
			if before >= sum {
				swaps++
			}
		}
		sums = append(sums, sum)
	}
	if swaps > driftSwaps {
		return f
	}
	first, last := known[len(known)/4], known[len(known)*3/4]
	in, out := s.durationsOf(func(i int, _ *event) bool { return i > last }, func(i int, _ *event) bool { return i < first })
	if in.weight == 0 || out.weight == 0 || in.quantile(0.5) < driftTimes*out.quantile(0.5) {
		return f
	}
	f.Rule, f.Severity, f.Figures = "latency_drifted", Info, map[string]float64{}
	f.setTimes(r.From, r.To)
	s.compare(&f, 0.5, &in, &out)
	f.Text = fmt.Sprintf("Durations grew from the begin of the log to its end: the median of the first quarter is %s, and of the last quarter %s, for decisions of the same paths. "+
		"Look for data that grow, for a leak, or for a load that grows. A part of a day may look like this too.%s", text.Duration(f.Figures["median_outside_ns"]), text.Duration(f.Figures["median_ns"]), s.sayOfSample(f.Figures))
	r.suggest(&f, "hour", nil, time.Time{}, time.Time{})
	return f
}

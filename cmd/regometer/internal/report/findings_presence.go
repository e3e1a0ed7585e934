// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file finds what is not there: servers that fall silent, pauses, fewer
// decisions, and clocks that are off.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

const (
	serverLeast    = 100              // decisions of a server
	silentLeast    = 10 * time.Minute // from its last decision to the end of the log
	silentExpect   = 50               // decisions that it would have had in this time
	replacedWithin = 15 * time.Minute // before or after its last decision, another server begins
	replacedGaps   = 20               // or in so many times the usual time between two of its decisions
	fewerShare     = 0.9              // of the decisions in as much time before; with fewer, fewer servers may be needed
	clockLeast     = 5 * time.Minute  // by which a clock is off
	clockServers   = 3                // other servers, whose first and last decisions agree

	rateSlices = 8                // slices of time before and after a fall
	rateLong   = 20 * time.Minute // from the fall to the end of the log
	rateTimes  = 0.5              // the rate after the fall divided by the rate before

	pauses    = 3               // at most
	gapLeast  = 5 * time.Minute // without a decision
	gapMost   = 6 * time.Hour
	pauseLong = time.Hour // such a pause may be usual
	gapTimes  = 10        // the gap divided by the longest of the other gaps
)

const whyNone = "Find out whether OPA, its clients or the shipping of its log stopped."

// findMissing reports servers without decisions up to the end of the log. If
// other servers begin at that time, they were replaced. If several are missing,
// or servers come and go, it may be that fewer are needed.
func (s *scan) findMissing(r *Report) (f Finding) {
	list := r.servers.list
	var missing []Member
	for _, x := range list {
		if x.Decisions() < serverLeast || x.First == x.Last || r.To-x.Last < int64(silentLeast) {
			continue
		}
		// It would have had its share of the decisions of the others.
		after := len(s.events) - s.from(x.Last+1)
		expected := float64(x.Decisions()) * Ratio(uint64(after), uint64(len(s.events)-after))
		// The other server may have few decisions too.
		within := max(int64(replacedWithin), replacedGaps*((x.Last-x.First)/int64(x.Decisions())))
		next, _ := slices.BinarySearchFunc(list, max(x.First+1, x.Last-within), func(o Member, t int64) int { return cmp.Compare(o.First, t) })
		replaced := next < len(list) && list[next].First <= x.Last+within
		if !replaced && expected >= silentExpect && r.To-x.Last > 2*s.longestOf(x.Name) {
			missing = append(missing, x)
		}
	}
	if len(missing) == 0 {
		return f
	}
	x := missing[0]
	f = r.newFinding("server_missing", x.Last, r.To, r.servers.by(), time.Time{}, map[string]float64{"servers": float64(len(missing)), "decisions": float64(x.Decisions())},
		"%s of %s had no decision from %s UTC to the end of the log, and no other server began then: %s. "+whyNone+" If fewer servers are needed, nothing is wrong.",
		text.Plural(len(missing), "server"), text.Count(len(list)), at(x.Last), listed(missing, func(x Member) string {
			return fmt.Sprintf("%s%s (last decision %s UTC)", name(x.Name), r.servers.idOf(x.Name), at(x.Last))
		}))
	// As many are left as before a server that was added for a while, such as a
	// canary, or as there were when a server ended in whose place others began later.
	count := func(from, to int64) int {
		return len(slices.DeleteFunc(slices.Clone(list), func(o Member) bool { return o.First >= to || o.Last < from }))
	}
	left, early := count(r.To-int64(silentLeast), r.To+1), r.From+int64(silentLeast)
	comeAndGo := len(slices.DeleteFunc(slices.Clone(list), func(x Member) bool { return x.First < early || r.To-x.Last < int64(silentLeast) })) >= 3
	unusual := func(x Member) bool {
		return count(x.Last, x.Last+1) > left && count(x.First-int64(replacedWithin), max(x.First, early)) > left && (x.First < early || !comeAndGo)
	}
	after, before := s.from(x.Last+1), s.from(2*x.Last-r.To)
	fewer := float64(len(s.events)-after) < fewerShare*float64(after-before) && x.Last-x.First > r.To-x.Last
	if f.Server = x.Name; len(missing) > max(1, len(list)/4) || !slices.ContainsFunc(missing, unusual) || fewer {
		f.Severity = Info
	}
	return f
}

// clockOff reports a server whose first and last decisions are as much before
// or after those of all others, which agree.
func clockOff(r *Report) (f Finding) {
	list := slices.DeleteFunc(slices.Clone(r.servers.list), func(x Member) bool { return x.Decisions() < serverLeast })
	if len(list) < 2 {
		return f
	}
	// Only the first or the last server to begin can differ from all others.
	for _, of := range [][2][]Member{{list[:1], list[1:]}, {list[len(list)-1:], list[:len(list)-1]}} {
		x, others := of[0][0], of[1]
		first, last := others[0].First, slices.MaxFunc(others, func(a, b Member) int { return cmp.Compare(a.Last, b.Last) }).Last
		begin, end := float64(x.First-first), float64(x.Last-last)
		near := math.Abs(begin) / 8
		between := func(o Member) float64 { return float64(o.Last-o.First) / float64(o.Decisions()) } // two of its decisions
		disagree := between(x) >= near || math.Abs(begin-end) > near || slices.ContainsFunc(others, func(o Member) bool {
			return float64(o.First-first) > near || float64(last-o.Last) > near || between(o) > near
		})
		// Of few servers, one may have replaced another one.
		replaced := len(others) < clockServers && math.Abs(begin) > float64(x.Last-x.First)/4
		if disagree || replaced || math.Abs(begin) < float64(clockLeast) {
			continue
		}
		f = r.newFinding("clock_off", x.First, x.Last, r.servers.by(), time.Time{}, map[string]float64{"seconds": begin / 1e9},
			"The first and the last decision of server %s%s are %s %s those of all other servers, which agree. Check the clock of its machine, or else theirs.",
			name(x.Name), r.servers.idOf(x.Name), text.LongDuration(math.Abs(begin)), map[bool]string{true: "before", false: "after"}[begin < 0])
		f.Server = x.Name
		break
	}
	return f
}

// rateFell reports that far fewer decisions came from some time on to the end of
// the log than ever before.
func (s *scan) rateFell(r *Report) (f Finding) {
	all := Timed(r.Total.Slices)
	if len(all) == 0 {
		return f
	}
	// Slices without decisions are not in the list, and the first and the last
	// one may be shorter.
	begin := all[0].Begin + r.Width
	n := (all[len(all)-1].Begin - begin) / r.Width
	if n < 2*rateSlices || n > 1<<12 {
		return f
	}
	rates := make([]float64, n)
	for _, p := range all[1 : len(all)-1] {
		rates[(p.Begin-begin)/r.Width] = float64(Decisions(p.Outcomes))
	}
	for i := rateSlices; i+rateSlices <= len(rates); i++ {
		// The rate fell within the first of the slices after it.
		before, after, from := mean(rates[:i]), mean(rates[i+1:]), begin+int64(i)*r.Width
		if slices.Max(rates[i:]) >= slices.Min(rates[:i]) || before < scanLeast || after >= rateTimes*before || r.To-from < int64(rateLong) {
			continue
		}
		// It fell in this slice or the one before, after the decision that makes all
		// times most likely (Raftery and Akman 1986).
		best, fall := 0.0, math.Log(before/max(after, 1))
		for k, since := s.from(from-r.Width), from-r.Width; k < len(s.events) && s.events[k].time < since+2*r.Width; k++ {
			n, t := float64(k+1-s.from(since)), float64(s.events[k].time-since)/float64(r.Width)
			if score := n*fall - (before-after)*s.share*t; score > best {
				best, from = score, s.events[k].time
			}
		}
		minute := float64(time.Minute) / float64(r.Width)
		return r.newFinding("rate_fell", from, r.To, r.servers.by(), second(from), map[string]float64{"per_minute": after * minute, "per_minute_outside": before * minute},
			"From %s UTC to the end of the log, %.3g decisions came in a minute, and %.3g before. "+
				"Find out whether clients stopped to ask, or whether a part of the log is missing.", at(from), after*minute, before*minute)
	}
	return f
}

// A pause is a time without decisions.
type pause struct{ from, to int64 }

func (p pause) length() int64 { return p.to - p.from }

// pausesOf returns the pauses between some decisions that are not short, the
// longest one first.
func (s *scan) pausesOf(events []int32) (all []pause) {
	for i := 1; i < len(events); i++ {
		if p := (pause{s.events[events[i-1]].time, s.events[events[i]].time}); p.length() >= int64(gapLeast)/gapTimes {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b pause) int { return cmp.Compare(b.length(), a.length()) })
	return all
}

// longestOf returns the longest pause of a server in the sample. A server that
// was silent before, such as at night, is not missing.
func (s *scan) longestOf(server string) int64 {
	for _, v := range s.values[ofServer] {
		if all := s.pausesOf(v.events); v.name == server && len(all) > 0 {
			return all[0].length()
		}
	}
	return 0
}

// findPauses reports pauses that are much longer than all others.
func (s *scan) findPauses(r *Report) (found []Finding) {
	all := s.pausesOf(s.targets[0].events)
	usual := int64(0)
	if len(all) > pauses {
		usual = all[pauses].length()
	}
	for _, p := range all[:min(pauses, len(all))] {
		if p.length() < max(int64(gapLeast), gapTimes*usual) || p.length() > int64(gapMost) || len(s.events) < scanLeast {
			continue
		}
		figures := map[string]float64{"seconds": float64(p.length()) / 1e9}
		sample := ""
		if s.share < 1 {
			sample, figures["sample"] = " in a sample of "+text.Plural(len(s.events), "decision"), float64(len(s.events))
		}
		f := r.newFinding("decisions_missing", p.from, p.to, r.servers.by(), second(p.from), figures,
			"From %s to %s UTC, for %s, there is no decision%s. All but the longest pauses are less than a tenth as long. "+whyNone,
			at(p.from), at(p.to), text.LongDuration(float64(p.length())), sample)
		if p.length() >= int64(pauseLong) {
			f.Severity = Info // as at night
		}
		found = append(found, f)
	}
	return found
}

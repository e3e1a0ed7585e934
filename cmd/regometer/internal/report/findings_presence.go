// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file finds what is not there: servers that fall silent, pauses, fewer
// decisions, and clocks that are off.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
)

const (
	serverLeast    = 100              // decisions of a server
	silentLeast    = 10 * time.Minute // from its last decision to the end of the log
	silentExpect   = 50               // decisions that it would have had in this time
	replacedWithin = 15 * time.Minute // before or after its last decision, another server begins
	replacedGaps   = 10               // or in so many times the usual time between two of its decisions
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

// serverMissing reports a server without decisions up to the end of the log. If
// other servers begin at that time, it was replaced. If several are missing, it
// may be that fewer are needed.
func serverMissing(r *Report) (f Finding) {
	if wrapperTimes(r) != "" || clockOff(r).Text != "" {
		return f
	}
	list := r.servers.list
	var missing []Member
	for _, x := range list {
		if x.Decisions() < serverLeast || x.First == x.Last || r.To-x.Last < int64(silentLeast) {
			continue
		}
		// It would have had its share of the decisions of the others.
		own, during, after := float64(x.Decisions()), 0.0, 0.0
		for _, s := range timed(r.Total.Slices) {
			n := outcomes(s.Outcomes)
			if s.Begin > x.Last {
				after += float64(n.sum())
			} else if s.Begin+r.Width > x.First {
				during += float64(n.sum())
			}
		}
		// The other server may have few decisions too.
		within := max(int64(replacedWithin), replacedGaps*((x.Last-x.First)/int64(x.Decisions())))
		replaced := slices.ContainsFunc(list, func(o Member) bool {
			return o.First > x.First && o.First >= x.Last-within && o.First <= x.Last+within
		})
		if !replaced && own/max(1, during)*after >= silentExpect && r.To-x.Last > 2*r.longestPause(x.Name) {
			missing = append(missing, x)
		}
	}
	if len(missing) == 0 {
		return f
	}
	if len(missing) > max(1, len(list)/4) {
		f.Severity = Info
	}
	x := missing[0]
	f.Server = x.Name
	f.setTimes(x.Last, r.To)
	f.Figures = map[string]float64{"servers": float64(len(missing)), "decisions": float64(x.Decisions())}
	f.Text = fmt.Sprintf("%s of %s had no decision from %s UTC to the end of the log, and no other server began then: %s. "+
		"Find out whether OPA, its clients or the shipping of its log stopped. If fewer servers are needed, nothing is wrong.",
		text.Plural(len(missing), "server"), text.Count(len(list)), at(x.Last),
		listed(missing, func(x Member) string {
			return fmt.Sprintf("%s%s (last decision %s UTC)", name(x.Name), r.servers.idOf(x.Name), at(x.Last))
		}))
	r.suggest(&f, r.servers.by(), nil, time.Time{}, time.Time{})
	return f
}

// longestPause returns the longest time between two decisions of a server in the
// sample. A server that was silent before, such as at night, is not missing.
func (r *Report) longestPause(server string) (longest int64) {
	var before *sampled
	for i := range r.sample.kept {
		if d := &r.sample.kept[i]; r.servers.name(r.sample.name(d, ofServer)) == server {
			if before != nil {
				longest = max(longest, d.time-before.time)
			}
			before = d
		}
	}
	return longest
}

// clockOff reports a server whose first and last decisions are as much before
// or after those of all others, which agree.
func clockOff(r *Report) (f Finding) {
	if wrapperTimes(r) != "" {
		return f
	}
	for i, x := range r.servers.list {
		others := slices.Delete(slices.Clone(r.servers.list), i, i+1)
		others = slices.DeleteFunc(others, func(o Member) bool { return o.Decisions() < serverLeast })
		if x.Decisions() < serverLeast || len(others) == 0 {
			continue
		}
		first, last := others[0].First, others[0].Last
		for _, o := range others {
			first, last = min(first, o.First), max(last, o.Last)
		}
		begin, end := float64(x.First-first), float64(x.Last-last)
		near := math.Abs(begin) / 8
		between := func(o Member) float64 { return float64(o.Last-o.First) / float64(o.Decisions()) } // two of its decisions
		agree := between(x) < near && !slices.ContainsFunc(others, func(o Member) bool {
			return float64(o.First-first) > near || float64(last-o.Last) > near || between(o) > near
		})
		// Of few servers, one may have replaced another one.
		replaced := len(others) < clockServers && math.Abs(begin) > float64(x.Last-x.First)/4
		if !agree || replaced || math.Abs(begin) < float64(clockLeast) || math.Abs(begin-end) > near {
			continue
		}
		f.Server, f.Figures = x.Name, map[string]float64{"seconds": begin / 1e9}
		f.setTimes(x.First, x.Last)
		way := "after"
		if begin < 0 {
			way = "before"
		}
		f.Text = fmt.Sprintf("The first and the last decision of server %s%s are %s %s those of all other servers, which agree. "+
			"Check the clock of its machine.", name(x.Name), r.servers.idOf(x.Name), text.LongDuration(math.Abs(begin)), way)
		if len(others) == 1 {
			f.Text += " Or that of the other machine is wrong."
		}
		r.suggest(&f, r.servers.by(), nil, time.Time{}, time.Time{})
		return f
	}
	return f
}

// rateFell reports that far fewer decisions came from some time on to the end of
// the log than ever before.
func rateFell(r *Report) (f Finding) {
	all := timed(r.Total.Slices)
	if wrapperTimes(r) != "" || len(all) < 2*rateSlices || clockOff(r).Text != "" {
		return f
	}
	// Slices without decisions are not in the list.
	n := int((all[len(all)-1].Begin-all[0].Begin)/r.Width) + 1
	if n < 2*rateSlices || n > 1<<16 {
		return f
	}
	rates := make([]float64, n)
	for _, s := range all {
		o := outcomes(s.Outcomes)
		rates[(s.Begin-all[0].Begin)/r.Width] = float64(o.sum())
	}
	rates = rates[1 : n-1] // these two may be shorter
	n = len(rates)
	most := slices.Clone(rates) // from each slice to the end
	for i := n - 2; i >= 0; i-- {
		most[i] = max(most[i], most[i+1])
	}
	fall, least, largest := 0, math.Inf(1), 0.0
	for i := 1; i+rateSlices <= n; i++ {
		least = min(least, rates[i-1])
		if i >= rateSlices && most[i] < least {
			before, after := mean(rates[i-rateSlices:i]), mean(rates[i:i+rateSlices])
			if after < rateTimes*before && before >= scanLeast && before-after > largest {
				fall, largest = i, before-after
			}
		}
	}
	from := all[0].Begin + int64(fall+1)*r.Width
	if fall == 0 || r.To-from < int64(rateLong) {
		return f
	}
	before, after := mean(rates[:fall]), mean(rates[fall:])
	minute := float64(time.Minute) / float64(r.Width)
	f.setTimes(from, r.To)
	f.Figures = map[string]float64{"per_minute": after * minute, "per_minute_outside": before * minute}
	f.Text = fmt.Sprintf("From %s UTC to the end of the log, %.3g decisions came in a minute, and %.3g before. "+
		"Find out whether clients stopped to ask, or whether a part of the log is missing.", at(from), after*minute, before*minute)
	r.suggest(&f, r.servers.by(), nil, second(from), time.Time{})
	return f
}

// findPauses returns the indices of the decisions after the pauses: times
// without decisions that are much longer than all others.
func (s *scan) findPauses() []int {
	length := func(i int) int64 { return s.events[i].time - s.events[i-1].time }
	var longest []int // the longest one first
	for i := 1; i < len(s.events); i++ {
		at := len(longest)
		for at > 0 && length(i) > length(longest[at-1]) {
			at--
		}
		if at <= pauses {
			longest = slices.Insert(longest, at, i)
			longest = longest[:min(len(longest), pauses+1)]
		}
	}
	for n := min(pauses, len(s.events)-1-scanLeast); n > 0; n-- {
		if l := length(longest[n-1]); l >= int64(gapLeast) && length(longest[0]) <= int64(gapMost) && l >= gapTimes*length(longest[n]) {
			slices.Sort(longest[:n])
			return longest[:n]
		}
	}
	return nil
}

// describePause returns the finding of a pause before event i.
func (s *scan) describePause(r *Report, i int) Finding {
	from, to := s.events[i-1].time, s.events[i].time
	if slices.ContainsFunc(timed(r.Total.Slices), func(p groupby.Slice) bool { return p.Begin > from && p.Begin+r.Width <= to }) {
		return Finding{} // only the sample has none
	}
	f := Finding{Rule: "decisions_missing", Figures: map[string]float64{"seconds": float64(to-from) / 1e9}}
	f.setTimes(from, to)
	f.Text = fmt.Sprintf("From %s to %s UTC, for %s, there is no decision. No other pause is a tenth as long. "+
		"Find out whether OPA, its clients or the shipping of its log stopped.",
		at(from), at(to), text.LongDuration(float64(to-from)))
	if !s.complete {
		f.Text += fmt.Sprintf(" The times are those of a sample of %s.", text.Plural(len(s.events), "decision"))
	}
	if to-from >= int64(pauseLong) {
		f.Severity = Info // as at night
	}
	r.suggest(&f, s.servers.by(), nil, second(from), time.Time{})
	return f
}

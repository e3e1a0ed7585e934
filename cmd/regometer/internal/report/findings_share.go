// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

// This file describes clusters by the share of their decisions that have a
// feature.

import (
	"fmt"
	"math"

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/outcome"
)

type outcomes [outcome.Cancelled + 1]uint64

// Decisions returns the number of decisions with any outcome.
func Decisions(outcomes [outcome.Cancelled + 1]uint64) (n uint64) {
	for _, k := range outcomes {
		n += k
	}
	return n
}

// outcomes counts a cluster by its outcome, and the decisions with which it is
// compared: those of the sample, and if a table has them, those of the whole log.
// The table is that of a name, or the slices of time that are wholly inside and
// outside.
func (s *scan) outcomes(r *Report, c *cluster, from, to int64) (in, out tally, exact bool) {
	m, parts, width, names := seen{Outcomes: r.Total.Outcomes}, r.Total.Slices, r.Width, 0
	for a, n := range c.subject {
		if n != anyName {
			m, parts, width = r.member(a, s.values[a][n].name)
			names++
		}
	}
	var whole, rest outcomes
	if !c.timed() {
		whole = m.Outcomes
		for o, n := range r.Total.Outcomes {
			rest[o] = n - min(n, whole[o])
		}
	} else {
		for _, p := range timed(parts) {
			for o, n := range p.Outcomes {
				switch {
				case p.Begin >= from && (p.Begin+width <= to || to == r.To):
					whole[o] += n
				case p.Begin+width <= from || p.Begin > to:
					rest[o] += n
				}
			}
		}
	}
	if s.share < 1 && names <= 1 && !c.stays && Decisions(whole) >= scanLeast && Decisions(rest) >= scanLeast {
		return tally{int(Decisions(whole)), int(whole[c.outcome])}, tally{int(Decisions(rest)), int(rest[c.outcome])}, true
	}
	return c.in, c.out, s.share == 1
}

// outcomeTexts has the words for each outcome, the beginning of the names of its
// rules, and what to do if it rose.
var outcomeTexts = [len(outcomes{})]struct{ word, did, rule, advice string }{
	outcome.Allowed:   {"allowed", "were allowed", "allowed", " Check at once whether the policy, or its data, allows what it should not."},
	outcome.Denied:    {"denied", "were denied", "denied", " Check whether the policy, its data, or the requests changed."},
	outcome.Neither:   {"another result", "had another result", "other", ""},
	outcome.Undefined: {"undefined", "were undefined", "undefined", " Check whether clients spell the path like the packages and rules, and whether OPA has loaded the bundle that contains these."},
	outcome.Failed:    {"failed", "failed", "errors", " Find the cause in the messages of the errors in the log."},
	outcome.Cancelled: {"cancelled", "were cancelled", "cancelled", " Clients gave up, or their time limit was too short: look at the durations at this time."},
}

// OutcomeWord returns an outcome in words.
func OutcomeWord(o outcome.Outcome) string { return outcomeTexts[o.Valid()].word }

// kindTexts has, for kinds of clusters, by how much the share of the feature must
// be above that outside, the rule, what decisions did, the stage, and what to do.
var kindTexts = [kinds]struct {
	least                    float64
	rule, did, stage, advice string
}{
	slow:    {least: 0.08},
	shifted: {least: 0.08},
	untimed: {0.5, "metrics_missing", "had no durations", "",
		" Find out what removes `metrics` there, or whether this server has another version or configuration of OPA."},
	compiled: {0.2, "compiles_rose", "compiled their query", compileStage,
		" OPA compiles queries again after policies or data changed, and keeps those of 100 paths. Write policies and data less often, in larger batches."},
	unfinished: {0.1, "http_send_unfinished", "had a call of `http.send` that did not end", httpStage, httpStops},
	repeated: {0.5, "requests_repeated", "had an input that the same path got in the minute before", "",
		" Find out whether the client tries the same request again and again."},
}

// set sets a figure, with its 95 % interval if it is that of a sample.
func (f *Finding) set(figure, unit string, sampled bool, value, low, high float64) {
	if f.Figures[figure+unit] = value; sampled {
		f.Figures[figure+"_low"+unit], f.Figures[figure+"_high"+unit] = low, high
	}
}

// setShare sets the figure of a share, which may be that of a sample of n
// decisions.
func (f *Finding) setShare(figure string, share float64, sampled bool, n int) {
	low, high := contrast.Wilson(share, float64(n))
	f.set(figure, "", sampled, share, low, high)
}

// setDecisions sets the number of decisions from those in the sample.
func (s *scan) setDecisions(f *Finding, n float64) float64 {
	half := 1.96 * math.Sqrt(n*(1-s.share))
	f.set("decisions", "", s.share < 1, math.Round(n/s.share), max(n, (n-half)/s.share), (n+half)/s.share)
	return f.Figures["decisions"]
}

// sayOfSample returns a sentence that the figures of a finding come from a sample,
// if they do, and adds its size to them.
func (s *scan) sayOfSample(figures map[string]float64) string {
	if s.share == 1 {
		return ""
	}
	shows := " The times are those of a sample of %s."
	if figures["share_high"]+figures["median_high_ns"] > 0 {
		shows = " A sample of %s shows this."
	}
	figures["sample"] = float64(len(s.events))
	return fmt.Sprintf(shows, text.Plural(len(s.events), "decision"))
}

// count counts a cluster, and that with which it is compared. A search leaves out
// what is in other clusters.
func (s *scan) count(c *cluster) {
	c.in, c.out = tally{}, tally{}
	for i := range s.events {
		e := &s.events[i]
		if x := c.of(e); x >= 0 && c.has(i, e) {
			c.in = c.in.plus(tally{1, int(x)})
		} else if x >= 0 && c.others().has(e) && (!c.stays || i >= c.first && i <= c.last) {
			c.out = c.out.plus(tally{1, int(x)})
		}
	}
}

// sayShare says how many decisions of a cluster have its feature, and what to do.
// It returns "" if the tables contradict it.
func (s *scan) sayShare(r *Report, c *cluster, f *Finding, what, others string, from, to int64) (said, advice string) {
	words, more := kindTexts[c.kind], ""
	f.Rule, f.Stage = words.rule, words.stage
	s.count(c)
	in, out, sampled, about := c.in.rate(), c.out.rate(), s.share < 1, s.about()
	if c.kind == shifted {
		a, b, exact := s.outcomes(r, c, from, to)
		in, out, sampled = a.rate(), b.rate(), !exact
		if !c.raised(in, out) {
			return "", ""
		}
		o := outcomeTexts[c.outcome]
		words.did, words.advice = o.did, o.advice
		if f.Rule = o.rule + "_high"; c.timed() && !c.stays || f.Revision != "" {
			f.Rule = o.rule + "_rose"
		}
		if exact && !c.timed() {
			f.Figures["decisions"], about = float64(a.all), ""
		}
	}
	if f.Figures["decisions"] == 0 {
		s.setDecisions(f, float64(c.in.all))
	}
	f.setShare("share", in, sampled, c.in.all)
	f.setShare("share_outside", out, sampled, c.out.all)
	if at, share, _ := s.findOwner(c, ofClient); c.kind == repeated && f.Client == "" { // a client that asks at no other time is no subject
		more = f.nameClient(s.values[ofClient][at].name, share)
	}
	if c.stays {
		more = " The others changed then, and it did not."
	}
	of := f.Figures["decisions"]
	return fmt.Sprintf("%s of %s %s (%s%s of %s), against %s of %s.%s", text.Percent(in), what, words.did, about,
		text.Count(uint64(math.Round(in*of))), text.Count(uint64(of)), text.Percent(out), others, more), words.advice
}

// nameClient names a client that has nearly all of some decisions.
func (f *Finding) nameClient(client string, share float64) string {
	if client == "" || share < nearlyAll {
		return ""
	}
	f.Client = client
	return " Client " + name(client) + " has nearly all of them."
}

// about marks an estimate.
func (s *scan) about() string { return map[bool]string{true: "about "}[s.share < 1] }

// isSticky reports whether nearly all decisions of a cluster come from clients
// that ask no other server.
func (s *scan) isSticky(c *cluster) bool {
	elsewhere := make([]bool, len(s.values[ofClient]))
	for i := range s.events {
		e := &s.events[i]
		elsewhere[e.names[ofClient]] = elsewhere[e.names[ofClient]] || e.names[ofServer] != c.subject[ofServer]
	}
	n := 0
	for i := range s.events {
		if e := &s.events[i]; c.has(i, e) && !elsewhere[e.names[ofClient]] {
			n++
		}
	}
	return float64(n) >= nearlyAll*float64(c.in.all)
}

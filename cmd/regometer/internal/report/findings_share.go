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
)

// outcomes counts a cluster by its outcome, and the decisions with which it is
// compared: those of the sample, and if a table has them, those of the whole log.
// The table is that of a name, or the slices of time that are wholly inside and
// outside, so that their shares are estimates too.
func (s *scan) outcomes(r *Report, c *cluster, from, to int64) (in, out tally, sampled bool) {
	m, parts, width, names := seen{Outcomes: r.Total.Outcomes}, r.Total.Slices, r.Width, 0
	for a, n := range c.subject {
		if n != anyName {
			m, parts, width = r.member(a, s.values[a][n].name)
			names++
		}
	}
	of := func(n outcomes) tally { return tally{float64(Decisions(n)), float64(n[c.outcome])} }
	if !c.timed() {
		in = of(m.Outcomes)
		out, parts = of(r.Total.Outcomes).minus(in), nil
	}
	for _, p := range Timed(parts) {
		switch {
		case p.Begin >= from && (p.Begin+width <= to || to == r.To):
			in = in.plus(of(p.Outcomes))
		case p.Begin+width <= from || p.Begin > to:
			out = out.plus(of(p.Outcomes))
		}
	}
	if s.share < 1 && names <= 1 && !c.stays && min(in.all, out.all) >= scanLeast {
		return in, out, c.timed()
	}
	return c.in, c.out, s.share < 1
}

// set sets a figure, with its 95 % interval if it is that of a sample.
func (f *Finding) set(figure, unit string, sampled bool, value, low, high float64) {
	if f.Figures[figure+unit] = value; sampled {
		f.Figures[figure+"_low"+unit], f.Figures[figure+"_high"+unit] = low, high
	}
}

// setShare sets the figure of a share, which may be that of a sample.
func (f *Finding) setShare(figure string, of tally, sampled bool) {
	low, high := contrast.Wilson(of.rate(), of.all)
	f.set(figure, "", sampled, of.rate(), low, high)
}

// setDecisions sets the number of decisions from those in the sample.
func (s *scan) setDecisions(f *Finding, n float64) float64 {
	half := 1.96 * math.Sqrt(n*(1-s.share))
	f.set("decisions", "", s.share < 1, math.Round(n/s.share), max(n, (n-half)/s.share), (n+half)/s.share)
	return f.Figures["decisions"]
}

// sayOfSample returns a sentence that a finding comes from a sample, if it does,
// and adds its size to the figures.
func (s *scan) sayOfSample(figures map[string]float64) string {
	if s.share == 1 {
		return ""
	}
	figures["sample"] = float64(len(s.events))
	return fmt.Sprintf(" A sample of %s shows this.", text.Plural(len(s.events), "decision"))
}

// sayShare says how many decisions of a cluster have its feature, and what to do.
// It returns "" if the tables contradict it.
func (s *scan) sayShare(r *Report, c *cluster, f *Finding, what, others string, from, to int64) (said, advice string) {
	s.count(c)
	in, out, sampled, about, more := c.in, c.out, s.share < 1, s.about(), ""
	s.setDecisions(f, in.all)
	if f.Rule, f.Stage = c.rule, c.stage; c.kind == shifted {
		in, out, sampled = s.outcomes(r, c, from, to)
		if !c.isRaised(in.rate(), out.rate(), c.revision > 0) {
			return "", ""
		}
		if f.Rule = c.rule + "_high"; c.timed() || f.Revision != "" {
			f.Rule = c.rule + "_rose"
		}
		if !sampled {
			f.Figures, about = map[string]float64{"decisions": in.all}, ""
		}
	}
	f.setShare("share", in, sampled)
	f.setShare("share_outside", out, sampled)
	if at, share := s.findOwner(c, ofClient); c.kind == repeated && f.Client == "" { // a client that asks at no other time is no subject
		more = f.nameClient(s.values[ofClient][at].name, share)
	}
	if c.stays {
		more = " The others changed then, and it did not."
	}
	of := f.Figures["decisions"]
	return fmt.Sprintf("%s of %s %s (%s%s of %s), against %s of %s.%s", text.Percent(in.rate()), what, c.did, about,
		text.Count(uint64(math.Round(in.rate()*of))), text.Count(uint64(of)), text.Percent(out.rate()), others, more), c.advice
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

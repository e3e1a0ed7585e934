// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/outcome"
)

const (
	highErrors    = 50   // errors of the log
	highShare     = 0.05 // of the decisions
	expectedLeast = 5    // decisions of a subject, where it has none
)

// findScanned returns the findings of a scan.
func findScanned(r *Report, s *scan) (found []Finding) {
	for _, c := range s.findClusters() {
		found = append(found, s.describe(r, &c))
	}
	for _, i := range s.findPauses() {
		found = append(found, s.describePause(r, i))
	}
	return found
}

func at(ns int64) string { return text.Time(ns, text.ToTheSecond) }

// second returns the second of a time.
func second(ns int64) time.Time { return time.Unix(0, ns).Truncate(time.Second) }

// describe returns the finding of a cluster.
func (s *scan) describe(r *Report, c *cluster) Finding {
	// A subject lasts to an end of the log, unless more of its decisions are
	// expected there.
	from, to := r.From, r.To
	rate := float64(c.in.all) / float64(c.last-c.first+1)
	if c.begins || rate*float64(c.first) > expectedLeast {
		from = s.events[c.first].time
	}
	if c.ends || rate*float64(len(s.events)-1-c.last) > expectedLeast {
		to = s.events[c.last].time
	}
	var f Finding
	f.setTimes(from, to)
	var subjects, paths []string
	by, slower := s.byServer(), "latency_rose"
	for a, of := range []struct {
		is               *string
		word, by, slower string
	}{
		{&f.Path, "path", "", ""},
		{&f.Server, "server", "", "server_slower"},
		{&f.Client, "client", "requested_by", "client_slower"},
		{&f.Revision, "bundle revision", "bundle", "revision_slower"},
	} {
		if c.subject[a] == anyName && !(a == ofRevision && c.timed()) {
			continue
		}
		if *of.is = s.findCommon(c, a); *of.is != "" || c.subject[a] != anyName {
			subjects = append(subjects, of.word+" "+name(cmp.Or(*of.is, none)))
			by, slower = cmp.Or(of.by, by), cmp.Or(of.slower, slower)
		}
	}
	what := "the decisions"
	if len(subjects) > 0 {
		what += " of " + strings.Join(subjects, " and ")
	}
	if f.Path != "" {
		paths = []string{patternOf(f.Path)}
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
	if c.kind == slow {
		f.Rule, f.Figures = slower, map[string]float64{"factor": c.factor}
		what += fmt.Sprintf(" took %.1f times as long as the others with the same path.", c.factor)
	} else {
		var did string
		switch {
		case c.kind == denied:
			f.Rule, did = "all_denied", "were denied"
		case c.kind == undefined:
			f.Rule, did = "path_undefined", "had no result"
		case c.timed():
			f.Rule, did = "errors_rose", "failed"
		default:
			f.Rule, did = "errors_high", "failed"
		}
		f.Figures = map[string]float64{"share": c.in.rate(), "share_outside": c.out.rate()}
		what = fmt.Sprintf("%s of %s %s, against %s of the others.", text.Percent(c.in.rate()), what, did, text.Percent(c.out.rate()))
	}
	if c.kind == failed {
		what += commonest(r.Total.Errors)
	}
	if when == "" {
		what = strings.ToUpper(what[:1]) + what[1:]
	}
	f.Text = when + what + fmt.Sprintf(" A sample of %s shows this.", text.Plural(len(s.events), "decision"))
	r.suggest(&f, by, paths, since, until)
	return f
}

// errorsHigh reports a high share of errors that no scan explains.
func errorsHigh(r *Report) (f Finding) {
	n := r.Total.Outcomes[outcome.Error]
	part := Ratio(n, r.Total.Decisions)
	if n < highErrors || part < highShare || r.scanned("errors_rose", "errors_high") {
		return f
	}
	f.setTimes(r.From, r.To)
	f.Figures = map[string]float64{"decisions": float64(r.Total.Decisions), "share": part}
	f.Text = fmt.Sprintf("%s of %s decisions (%s) failed.%s "+
		"Find the cause in the messages of the errors in the log, and the paths with `--by path`.",
		text.Count(n), text.Count(r.Total.Decisions), text.Percent(part), commonest(r.Total.Errors))
	return f
}

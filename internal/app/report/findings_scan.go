// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/rollup"
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
		found = append(found, s.describePause(i))
	}
	return found
}

func at(ns int64) string { return text.Time(ns, text.ToTheSecond) }

// flagTime returns a time for --since, or with a second more for --until.
func flagTime(ns int64, more time.Duration) string { return text.Time(ns+int64(more), time.RFC3339) }

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
	var of, flags []string
	for a, of1 := range []struct {
		is   *string
		word string
	}{{&f.Path, "path"}, {&f.Server, "server"}, {&f.Client, "client"}, {&f.Revision, "bundle revision"}} {
		if c.subject[a] == anyName && !(a == ofRevision && c.timed()) {
			continue
		}
		if found, ok := s.findCommon(c, a); ok && found != "" {
			*of1.is = found
			of = append(of, of1.word+" "+name(found))
		}
	}
	by := "label:" + s.label
	switch {
	case f.Server != "":
	case f.Revision != "":
		by = "bundle"
	case f.Client != "":
		by = "requested_by"
	case s.label == "":
		by = "path"
	}
	flags = append(flags, "report", "--by", by)
	if f.Path != "" {
		flags = append(flags, "--path", strings.Trim(name(f.Path), "`"))
	}
	when := ""
	switch {
	case c.begins && c.ends:
		when = fmt.Sprintf("From %s to %s UTC, ", at(from), at(to))
	case c.begins:
		when = fmt.Sprintf("From %s UTC on, ", at(from))
	case c.ends:
		when = fmt.Sprintf("Until %s UTC, ", at(to))
	}
	if c.begins {
		flags = append(flags, "--since", flagTime(from, 0))
	}
	if c.ends {
		flags = append(flags, "--until", flagTime(to, time.Second))
	}
	subject := ""
	if len(of) > 0 {
		subject = " of " + strings.Join(of, " and ")
	}
	f.Figures = map[string]float64{"share": c.in.rate(), "share_outside": c.out.rate()}
	var what string
	switch c.kind {
	case slow:
		f.Rule = "latency_rose"
		if f.Revision != "" {
			f.Rule = "revision_slower"
		} else if f.Server != "" {
			f.Rule = "server_slower"
		} else if f.Client != "" {
			f.Rule = "client_slower"
		}
		f.Figures = map[string]float64{"factor": c.factor}
		what = fmt.Sprintf("the decisions%s took %.1f times as long as the others with the same path.", subject, c.factor)
	case failed:
		f.Rule = "errors_high"
		if c.timed() {
			f.Rule = "errors_rose"
		}
		what = fmt.Sprintf("%s of the decisions%s failed, against %s of the others.%s",
			text.Percent(c.in.rate()), subject, text.Percent(c.out.rate()), commonest(r.Total.Errors))
	case denied:
		f.Rule = "all_denied"
		what = fmt.Sprintf("%s of the decisions%s were denied, against %s otherwise.", text.Percent(c.in.rate()), subject, text.Percent(c.out.rate()))
	default:
		f.Rule = "path_undefined"
		what = fmt.Sprintf("%s of the decisions%s had no result, against %s otherwise.", text.Percent(c.in.rate()), subject, text.Percent(c.out.rate()))
	}
	if when == "" {
		what = strings.ToUpper(what[:1]) + what[1:]
	}
	f.Text = when + what + fmt.Sprintf(" A sample of %s shows this. Look at the decisions with `%s`.",
		text.Plural(len(s.events), "decision"), strings.Join(flags, " "))
	return f
}

// errorsHigh reports a high share of errors that no scan explains.
func errorsHigh(r *Report) (f Finding) {
	n := r.Total.Outcomes[rollup.Error]
	part := Ratio(n, r.Total.Decisions)
	if n < highErrors || part < highShare || r.scanned("errors_rose", "errors_high") {
		return f
	}
	f.setTimes(r.From, r.To)
	f.Figures = map[string]float64{"decisions": float64(r.Total.Decisions), "share": part}
	f.Text = fmt.Sprintf("%s of %s decisions (%s) failed, at all times and on all servers alike.%s "+
		"Find the cause in the messages of the errors in the log, and the paths with `report --by path`.",
		text.Count(n), text.Count(r.Total.Decisions), text.Percent(part), commonest(r.Total.Errors))
	return f
}

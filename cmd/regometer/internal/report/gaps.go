// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
)

// A gap is a kind of gap.
type gap struct {
	n      int64
	what   string
	why    []logread.Problem
	remedy string
}

func (r *Report) gaps() []gap {
	g := &r.Inputs.Gaps
	return slices.DeleteFunc([]gap{
		{g.Duration, "no duration above 0", []logread.Problem{logread.NoMetrics}, "Find out what removes or changes `metrics`."},
		{g.Metric, "a metric that cannot be read", []logread.Problem{logread.BadMetric, logread.NegativeMetric}, "Find out what removes or changes `metrics`."},
		{g.Time, "no readable time", []logread.Problem{logread.BadTime}, "Find out what removes or changes `timestamp`."},
		{g.Result, "no readable result", nil, "Find out what removes, cuts or masks `result`."},
	}, func(g gap) bool { return g.n == 0 })
}

const gapShare = 0.01 // of the decisions; a finding needs more

// Unread returns the problems of events and of files that were not read. It
// also reports whether these are so many, or nobody knows how many, that the
// report has only a part of its log.
func (in *Inputs) Unread() (problems string, partly bool) {
	problems, part := in.unread()
	return problems, part > gapShare
}

// unread returns the problems of events and of files that were not read, and
// how much of all events that is: at least 1 if nobody knows.
func (in *Inputs) unread() (names string, part float64) {
	lost := []logread.Problem{Damaged, Shortened, Unclosed, Unreadable, refused}
	_, files := in.problems(lost...)
	names, all := in.problems(append(lost, logread.InvalidJSON, logread.UnknownForm, logread.Truncated, logread.TooLong, logread.NoText)...)
	return names, max(float64(files.Count), Ratio(uint64(all.Count), uint64(in.Decisions+all.Count)))
}

// wrapped reports whether too many times are those of wrappers, which may have
// been written much later.
func (in *Inputs) wrapped() bool {
	_, p := in.problems(logread.WrapperTime)
	return Ratio(uint64(p.Count), uint64(max(p.Count, in.Decisions+in.Repeats.LeftOut-in.Gaps.Time))) > gapShare
}

// covered is the first paragraph.
func (r *Report) covered() string {
	first, separator := "", "Of "+text.Plural(r.Total.Decisions, "decision")+", "
	for _, g := range r.gaps() {
		first += separator + text.Count(g.n) + map[bool]string{true: " has ", false: " have "}[g.n == 1] + g.what
		if why, _ := r.Inputs.problems(g.why...); why != "" {
			first += " (" + why + ")"
		}
		separator = ", "
	}
	said := cmp.Or(first, separator+"all times, durations and results could be read") + "."
	if n := r.Inputs.Gaps.Unplaced; n > 0 {
		said += fmt.Sprintf(" %s without a readable time %s not selected.", text.Plural(n, "other decision"), map[bool]string{true: "is", false: "are"}[n == 1])
	}
	if problems, _ := r.Inputs.unread(); problems != "" {
		said += " Others could not be read: " + problems + "."
	}
	return said
}

// The rules that say that a report has only a part of a log, and that it has
// decisions more than once.
const (
	PartlyRead = "partly_read"
	Repeated   = "ids_repeated"
)

// Partly reports whether the report has only a part of its log.
func (r *Report) Partly() bool { return r.Interrupted || r.partly(0) }

// partly reports whether too many decisions could not be read, or only in part,
// without some of these.
func (r *Report) partly(without float64) bool {
	g := &r.Inputs.Gaps
	part := max(0, float64(g.Any+g.Unplaced)-without) / float64(max(1, int64(r.Total.Decisions)+g.Unplaced))
	_, unread := r.Inputs.unread()
	return r.Total.Decisions > 0 && part+unread > gapShare
}

func partlyRead(r *Report) string {
	said := 0.0 // of decisions without metrics, whose server another finding names
	for _, f := range r.byTime {
		if f.Rule == "metrics_missing" {
			said += f.Figures["share"] * f.Figures["decisions"]
		}
	}
	if !r.partly(said) {
		return ""
	}
	finding := "The report has only a part of the log. " + r.covered()
	if names, _ := r.Inputs.problems(logread.NoText); names != "" {
		finding += " Write journald's log again with `journalctl --all`."
	}
	if problems, _ := r.Inputs.unread(); problems != "" {
		finding += " `Input` says where: copy damaged and truncated files again, and convert files of other formats."
	}
	for _, g := range r.gaps() { // of which four together may be too many
		if Ratio(uint64(g.n), r.Total.Decisions) > gapShare/4 && !strings.Contains(finding, g.remedy) {
			finding += " " + g.remedy
		}
	}
	return finding
}

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
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
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

// Coverage says in paragraphs how much of the decisions could be used for what.
// They have names between backticks, as findings. There are none without
// decisions.
func (r *Report) Coverage() (said []string) {
	if r.Total.Decisions == 0 {
		return nil
	}
	said = []string{r.covered()}
	for _, n := range r.NotRun() {
		said = append(said, fmt.Sprintf("As %s, these rules did not run, or only in part: `%s`.", n.Reason, strings.Join(n.Rules, "`, `")))
	}
	if unjudged := r.unjudged(); unjudged != "" {
		said = append(said, unjudged)
	}
	return said
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

// The least values of a path of which most outcomes are not known.
const (
	unjudgedDecisions = 100
	unjudgedShare     = 0.95
)

// unjudged gives an example of --outcome for the path with the most decisions
// that have another result. Hidden results need another remedy.
func (r *Report) unjudged() string {
	most, key := uint64(r.Inputs.Gaps.Result), ""
	for _, g := range r.Groups.Sums() {
		n := g.Outcomes[outcome.Neither]
		if r.By == "path" && n > most && g.Decisions >= unjudgedDecisions && Ratio(n, g.Decisions) >= unjudgedShare && g.Key != outcome.Query && g.Key != rollup.Other {
			most, key = n, g.Key
		}
	}
	rule, advice := r.sample.exampleOf(key), "If a field of the result says yes or no, name it"
	if rule == listRule {
		advice = "If the result lists reasons to deny, say so"
	}
	flag, ok := quoted([]string{"--outcome", key + "=" + rule})
	switch {
	case key == "":
		return ""
	case rule == numberRule:
		return fmt.Sprintf("%s of path %s have another result: numbers, which no rule of `--outcome` judges.", text.Plural(most, "decision"), name(key))
	case !ok || strings.ContainsAny(key, "=*`"):
		flag = "--outcome"
	}
	return fmt.Sprintf("%s of path %s have another result. %s: `%s`.", text.Plural(most, "decision"), name(key), advice, flag)
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

// NotRun has rules that did not run, or only in part, because the log or the
// grouping lacks what they need.
type NotRun struct {
	Reason string   `json:"reason"`
	Rules  []string `json:"rules"`
}

// needs are what rules need.
type needs uint8

const (
	needsPaths needs = 1 << iota
	needsTime
	needsDuration
	needsResult
	needsID
)

// NotRun returns the rules that did not run. Each has one reason.
func (r *Report) NotRun() (all []NotRun) {
	g, decisions := &r.Inputs.Gaps, int64(r.Total.Decisions)
	var known needs
	for _, lack := range []struct {
		is     bool
		needs  needs
		reason string
	}{
		{g.Time == decisions, needsTime, "no decision has a readable time"},
		{r.Inputs.wrapped(), needsTime, "more than 1 % of the times are those of wrappers"},
		{g.Duration == decisions, needsDuration, "no decision has a duration above 0"},
		{g.Result == decisions, needsResult, "all results are hidden"},
		{r.Inputs.Repeats.WithoutID >= decisions, needsID, "no decision has an id"},
		{r.By != "path", needsPaths, "the groups are not paths"},
	} {
		n := NotRun{Reason: lack.reason}
		for _, rule := range rules {
			if lack.is && decisions > 0 && rule.needs&lack.needs != 0 && rule.needs&known == 0 {
				n.Rules = append(n.Rules, rule.name)
			}
		}
		if n.Rules != nil {
			all, known = append(all, n), known|lack.needs
		}
	}
	return all
}

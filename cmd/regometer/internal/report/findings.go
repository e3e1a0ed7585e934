// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
)

// A rule makes a finding.
type rule struct {
	name     string                // as in Finding.Rule
	severity string                // of its findings, unless they have one
	needs    needs                 // without which it does not run, or only in part
	find     func(*Report) Finding // returns a finding without a text if there is none; nil if others find it, as find says
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

// RuleNames returns the names that findings have, the most important first.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// find returns the findings of a report that is otherwise complete: faults
// first, and then in the order of the rules.
//
// In the texts, names from OPA and from the log are between backticks. Names
// from the log are shortened. They have no backticks, but may have any other
// character.
func find(r *Report) []Finding {
	found := findOften(r)
	order := map[string]int{}
	for i, rule := range rules {
		if order[rule.name] = i; rule.find != nil {
			if f := rule.find(r); f.Text != "" {
				f.Rule = rule.name
				found = append(found, f)
			}
		}
	}
	for i, f := range found {
		found[i].Severity = cmp.Or(f.Severity, rules[order[f.Rule]].severity)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(order[a.Rule], order[b.Rule]))
	})
	return found
}

// rules are sorted by importance: first what went wrong, then what is usual in
// operation, then what the log itself lacks. docs/report.md describes them.
var rules = []rule{
	{"interrupted", Fault, 0, say(interrupted)},
	{PartlyRead, Fault, 0, say(partlyRead)},
	{"decisions_lost", Fault, 0, saidByOPA("it lost decisions of its log", "A chunk has any number of them. "+
		"OPA's lines say why. If its buffer was full, raise `buffer_size_limit_bytes` of `decision_logs.reporting`. "+
		"If decisions were too large, raise `upload_size_limit_bytes`, or mask parts of their input.",
		logread.LostChunks, logread.LostEvents, logread.LostAtStop)},
	{"allowed_rose", Fault, needsTime | needsResult, nil},
	{"errors_rose", Fault, needsTime, nil},
	{"denied_rose", Fault, needsTime | needsResult, nil},
	{"undefined_rose", Fault, needsTime | needsResult, nil},
	{"cancelled_rose", Fault, needsTime, nil},
	{"other_rose", Fault, needsTime | needsResult, nil},
	{"allowed_high", Fault, needsTime | needsResult, nil},
	{"errors_high", Fault, needsPaths | needsTime, nil},
	{"denied_high", Fault, needsTime | needsResult, nil},
	{"undefined_high", Fault, needsTime | needsResult, nil},
	{"cancelled_high", Fault, needsPaths | needsTime, nil},
	{"other_high", Fault, needsTime | needsResult, nil},
	{"decisions_missing", Fault, needsTime, nil},
	{"server_missing", Fault, needsTime, nil},
	{"clock_off", Fault, needsTime, nil},
	{"metrics_missing", Fault, needsTime, nil},
	{"latency_rose", Fault, needsTime | needsDuration, nil},
	{"server_slower", Fault, needsTime | needsDuration, nil},
	{"client_slower", Fault, needsTime | needsDuration, nil},
	{"group_slower", Fault, needsTime | needsDuration, nil},
	{"revision_slower", Fault, needsTime | needsDuration, nil},
	{"http_send_unfinished", Fault, needsPaths | needsDuration, nil},
	{"http_send_slow", Fault, needsPaths | needsDuration, nil},
	{"requests_repeated", Fault, needsTime, nil},
	{"compiles_rose", Fault, needsTime | needsDuration, nil},
	{"path_undefined", Fault, needsPaths | needsTime | needsResult, nil},
	{Repeated, Fault, needsID, idsRepeated},
	{"ids_reused", Fault, needsID, idsReused},
	{"rate_fell", Info, needsTime, nil},
	{"latency_drifted", Info, needsTime | needsDuration, nil},
	{"events_large", Info, 0, eventsLarge},
	{"uploads_failed", Info, 0, saidByOPA("uploads of its decision log failed", "OPA tries them again, so this alone loses no decision. "+
		"Check the server that receives the log, and the way to it.", logread.UploadFailed)},
	{"keys_beyond_limit", Info, 0, say(keysBeyond)},
}

// say returns a function that makes a finding of a text about all decisions.
func say(text func(*Report) string) func(*Report) Finding {
	return func(r *Report) Finding { return Finding{Text: text(r)} }
}

func interrupted(r *Report) string {
	if !r.Interrupted {
		return ""
	}
	return "Reading was interrupted, so this report covers only what was read until then. Let it run to the end before you compare figures."
}

// saidByOPA returns a function that makes a finding of what OPA says of
// decisions, and advice.
func saidByOPA(what, advice string, kinds ...logread.Problem) func(*Report) Finding {
	return func(r *Report) (f Finding) {
		names, sum := r.Inputs.problems(kinds...)
		if names == "" {
			return f
		}
		f.Text, f.Figures = "OPA says that "+what+": "+names, map[string]float64{}
		if sum.From != 0 {
			f.Text += f.setTimes(sum.From, sum.To)
		}
		for _, kind := range kinds {
			_, p := r.Inputs.problems(kind)
			f.Figures[string(kind)] = float64(p.Count)
		}
		f.Text += ". " + advice
		return f
	}
}

func eventsLarge(r *Report) (f Finding) {
	l := &r.largest
	if l.Compressed <= uploadLimit {
		return f
	}
	f.Path = l.Path
	f.Figures = map[string]float64{"decisions": float64(l.Count), "bytes": float64(l.Sizes.Total), "compressed": float64(l.Compressed)}
	f.Text = fmt.Sprintf("The largest event, of path %s, has %s%s, and %s after compression. "+
		"OPA from 1.6 on uploads no event that is larger than `upload_size_limit_bytes` of `decision_logs.reporting` after compression, "+
		"by default %s bytes. It leaves out `nd_builtin_cache`, and drops an event that is still too large. "+
		"Of %s, %s have more bytes than this before compression. Raise the limit, or let a mask policy remove what is large. "+
		"If OPA has uploaded this log, its limit is higher.",
		name(l.Path), text.Bytes(l.Sizes.Total), partsText(&l.Sizes, " (", ")"), text.Bytes(l.Compressed),
		text.Count(uploadLimit), text.Plural(r.Total.Decisions, "decision"), text.Count(l.Count))
	return f
}

func keysBeyond(r *Report) string {
	if r.Overflow == 0 {
		return ""
	}
	return fmt.Sprintf("There was no room for all keys: group `other` has %s. "+
		"Select fewer paths with `--path`, or group by something with fewer values with `--by`. "+
		"If ids are part of paths, pass them in the input.", text.Plural(r.Overflow, "decision"))
}

func idsRepeated(r *Report) (f Finding) {
	in := &r.Inputs.Repeats
	n, total := in.Count, int64(r.Total.Decisions)
	if n == 0 {
		return f
	}
	f.Figures = map[string]float64{"decisions": float64(n), "without": float64(total - n)}
	f.Text = fmt.Sprintf("The %s include %s, with the id, time and path of another decision%s. Without the repeats there are %s. ",
		text.Plural(total, "decision"), about(in, text.Plural(n, "repeat")), f.setTimes(in.FoundRepeats.First, in.FoundRepeats.Last), map[bool]string{true: "about "}[in.Sample > 0]+text.Count(total-n))
	if in.Missed > 0 {
		f.Text += fmt.Sprintf("%s were left out, but `--unique` remembers only %s decisions. Select fewer with `--since` and `--until`.",
			text.Plural(in.LeftOut, "other repeat"), text.Count(repeats.MaxKeys))
	} else {
		f.Text += "To count each decision once, read all logs together with `--unique`. " +
			"Check whether two inputs hold the same decisions. OPA and log shippers send decisions again if they get no answer."
	}
	return f
}

func idsReused(r *Report) (f Finding) {
	in := &r.Inputs.Repeats
	if in.Reused == 0 {
		return f
	}
	f.Figures = map[string]float64{"decisions": float64(in.Reused)}
	f.Text = fmt.Sprintf("The %s include %s with the id of another decision, but another time or path%s. "+
		"All count, because Regometer cannot tell whether they are repeats. OPA gives each decision an id of its own. "+
		"Find out what sets the ids, or what changes times or paths between OPA and this log.",
		text.Plural(r.Total.Decisions, "decision"), about(in, text.Count(in.Reused)), f.setTimes(in.FoundReused.First, in.FoundReused.Last))
	return f
}

// about marks a number that is an estimate.
func about(r *repeats.Counts, number string) string {
	if r.Sample == 0 {
		return number
	}
	return fmt.Sprintf("about %s (estimated from a sample of %s)", number, text.Count(r.Sample))
}

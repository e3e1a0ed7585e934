// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// mostCommand limits a command, in bytes.
const mostCommand = 2000

// suggest adds a command to a finding, and a sentence about it to its text. The
// command selects the decisions of the report, and of these the decisions with
// the patterns of paths, if there are some, and those between two times, which
// may be zero. It has only words that all forms of output show as they are.
func (r *Report) suggest(f *Finding, by string, paths []string, since, until time.Time) {
	o := cmp.Or(r.options, new(Options)) // empty for saved reports
	if paths == nil {
		paths = o.Paths
	}
	if since.Before(o.Since) {
		since = o.Since
	}
	if until.IsZero() || !o.Until.IsZero() && o.Until.Before(until) {
		until = o.Until
	}
	words := []string{"regometer", "report", "--by", by}
	for _, path := range paths {
		words = append(words, "--path", path)
	}
	for i, at := range []time.Time{since, until} {
		if !at.IsZero() {
			words = append(words, [...]string{"--since", "--until"}[i], at.UTC().Format(time.RFC3339Nano))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(o.Outcomes)) {
		words = append(words, "--outcome", path+"="+o.Outcomes[path])
	}
	if o.Unique {
		words = append(words, "--unique")
	}
	inputs, sentence := o.Inputs, " Look at the decisions with this command:"
	if slices.Contains(inputs, standardInput) {
		sentence = " Give this command the same standard input to look at the decisions:"
	}
	if slices.ContainsFunc(inputs, func(name string) bool { return name != standardInput && strings.HasPrefix(name, "-") }) {
		inputs = slices.Concat([]string{"--"}, inputs)
	}
	command, ok := quoted(slices.Concat(words, inputs))
	if !ok || len(inputs) == 0 {
		command, ok = quoted(words)
		sentence = " Add the logs to this command to look at the decisions:"
	}
	if ok {
		f.Text, f.Command = f.Text+sentence, command
	}
}

// newFinding returns a finding about times, with a command that groups the
// decisions from a time on.
func (r *Report) newFinding(rule string, from, to int64, by string, since time.Time, figures map[string]float64, format string, args ...any) (f Finding) {
	f = Finding{Rule: rule, Figures: figures, Text: fmt.Sprintf(format, args...)}
	f.setTimes(from, to)
	r.suggest(&f, by, nil, since, time.Time{})
	return f
}

// quoted returns the words of a command. It returns false if the command is too
// long, or if an output would change a word.
func quoted(words []string) (string, bool) {
	var all []string
	for _, word := range words {
		all = append(all, text.Quote(word))
	}
	command := strings.Join(all, " ")
	return command, len(command) <= mostCommand && text.Visible(command) == command
}

// patternOf returns a pattern for --path that selects a path from a sample. In
// place of each segment that a pattern or a command cannot have, or that may
// not be that of the log, it has *.
func patternOf(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if text.Visible(s) != s || strings.ContainsRune(s, '\uFFFD') || i == 0 && s == "" {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

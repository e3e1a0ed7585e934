// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/text"
)

// mostCommand limits a command, in bytes.
const mostCommand = 2000

// suggest adds a command to a finding, which selects the decisions of the
// report, and of these the decisions of some paths or all, and those from a
// time to the second of another. These may be decisionlog.NoTime. The text of
// the finding gets a sentence about the command. Commands have only words that
// all forms of output show as they are.
func (r *Report) suggest(f *Finding, by string, paths []string, from, to int64, more ...string) {
	o, logs := r.options, "the logs"
	if o == nil { // of saved reports
		o, logs = new(Options), "the logs, and the flags that selected decisions,"
	}
	words := []string{"regometer", "report", "--by", by}
	for _, path := range paths {
		words = append(words, "--path", patternOf(path))
	}
	if len(paths) == 0 {
		for _, pattern := range o.Paths {
			words = append(words, "--path", pattern)
		}
	}
	since, until := o.Since, o.Until
	if begin := time.Unix(0, from).Truncate(time.Second); from != decisionlog.NoTime && begin.After(since) {
		since = begin
	}
	if end := time.Unix(0, to).Truncate(time.Second).Add(time.Second); to != decisionlog.NoTime && (until.IsZero() || end.Before(until)) {
		until = end
	}
	if !since.IsZero() {
		words = append(words, "--since", since.UTC().Format(time.RFC3339Nano))
	}
	if !until.IsZero() {
		words = append(words, "--until", until.UTC().Format(time.RFC3339Nano))
	}
	for _, path := range slices.Sorted(maps.Keys(o.Outcomes)) {
		words = append(words, "--outcome", path+"="+o.Outcomes[path])
	}
	words = append(words, more...)
	inputs := slices.Clone(o.Inputs)
	if slices.ContainsFunc(inputs, func(name string) bool { return name != standardInput && strings.HasPrefix(name, "-") }) {
		inputs = slices.Insert(inputs, 0, "--")
	}
	sentence := " Look at the decisions with this command:"
	if slices.Contains(inputs, standardInput) {
		sentence = " Give this command the same standard input to look at the decisions:"
	}
	command, ok := quoted(slices.Concat(words, inputs))
	if !ok || len(inputs) == 0 {
		command, ok = quoted(words)
		sentence = " Add " + logs + " to this command to look at the decisions:"
	}
	if ok {
		f.Text, f.Command = f.Text+sentence, command
	}
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

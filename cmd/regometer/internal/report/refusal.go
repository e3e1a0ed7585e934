// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/logread"
)

// A problemError is the error of a file that cannot be read.
type problemError struct{ logread.Problem }

func (p problemError) Error() string { return string(p.Problem) }

// The problems of files, besides those of package logread.
const (
	Unreadable    logread.Problem = "unreadable"      // the file, or the rest of it, cannot be read
	Damaged       logread.Problem = "damaged"         // a part of a compressed file or an archive cannot be read
	Unclosed      logread.Problem = "unclosed"        // the file ends within an array, or within an object around events
	Shortened     logread.Problem = "shortened"       // the file became shorter before it was read to its end
	NoDecisionLog logread.Problem = "no_decision_log" // the file is not empty, and has no event
)

// refused begins the problems of formats.
const refused logread.Problem = "format_"

const nested = refused + "nested"

// Called returns the name of a file, or of a member of an archive, for
// sentences.
func Called(file string) string {
	if rest, ok := strings.CutPrefix(file, standardInput); ok && (rest == "" || rest[0] == ':') {
		return "standard input" + rest
	}
	return file
}

// describe says what a file without an event has: the members of the object
// that its text begins with, also in an array, or else the first line.
func describe(beginning string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(beginning), "\n")
	var members []string
	object := logread.Event{Labels: []byte(strings.ReplaceAll(strings.TrimLeft(beginning, "[ \t\r\n\ufeff"), "\n", " "))}
	object.EachLabel(func(name, _ []byte) { members = append(members, string(name)) })
	switch {
	case strings.ContainsFunc(first, func(r rune) bool { return r == utf8.RuneError || r < '\t' }):
		return " is not text"
	case members != nil:
		return " has no decision: its first object has " + strings.Join(members, ", ")
	case first == "":
		return " has no decision"
	}
	return " has no decision: it begins with: " + strings.TrimSuffix(first, "\r")
}

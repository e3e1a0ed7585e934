// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"
)

// TestSuggest: a command selects decisions that both the report and the finding
// have. It has no word that an output would change, and is not too long.
func TestSuggest(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 500, time.UTC) }
	many := strings.Fields(strings.Repeat("logs/a.log ", 200))
	for _, test := range []struct {
		o            Options
		by           string
		paths        []string
		since, until time.Time
		want         string
	}{
		{Options{Inputs: []string{"a", "b c"}}, "path", nil, time.Time{}, time.Time{}, "Look at the decisions with this command: regometer report --by path a 'b c'"},
		{Options{Inputs: []string{"a"}, Paths: []string{"x,y", "/z"}}, "path", nil, time.Time{}, time.Time{}, "regometer report --by path --path x,y --path /z a"},
		{Options{Inputs: []string{"a"}, Paths: []string{"x"}}, "label:my id", []string{"x/y"}, time.Time{}, time.Time{}, "regometer report --by 'label:my id' --path x/y a"},
		{Options{Inputs: []string{"a"}, Since: at(1), Until: at(9)}, "path", nil, at(2), at(8), " --since 2026-01-02T03:02:00.0000005Z --until 2026-01-02T03:08:00.0000005Z a"},
		{Options{Inputs: []string{"a"}, Since: at(3), Until: at(7)}, "path", nil, at(2), at(8), " --since 2026-01-02T03:03:00.0000005Z --until 2026-01-02T03:07:00.0000005Z a"},
		{Options{Inputs: []string{"a"}, Since: at(3), Until: at(7)}, "path", nil, time.Time{}, time.Time{}, " --since 2026-01-02T03:03:00.0000005Z --until 2026-01-02T03:07:00.0000005Z a"},
		{Options{Inputs: []string{"a"}, Outcomes: map[string]string{"q": "not result.b", "p": "result.a"}}, "path", nil, time.Time{}, time.Time{}, " --outcome 'p=result.a' --outcome 'q=not result.b' a"},
		{Options{Inputs: []string{"-", "a"}}, "path", nil, time.Time{}, time.Time{}, "Give this command the same standard input to look at the decisions: regometer report --by path - a"},
		{Options{Inputs: []string{"-", "-a"}}, "path", nil, time.Time{}, time.Time{}, "regometer report --by path -- - -a"},
		{Options{Inputs: []string{"a\nb"}}, "path", nil, time.Time{}, time.Time{}, "Add the logs to this command to look at the decisions: regometer report --by path"},
		{Options{Inputs: many}, "path", nil, time.Time{}, time.Time{}, "Add the logs to this command to look at the decisions: regometer report --by path"},
		{Options{Inputs: []string{"a"}}, "label:\u202e", nil, time.Time{}, time.Time{}, ""},
		{Options{Inputs: []string{"a"}}, "path", []string{strings.Repeat("p", 3000)}, time.Time{}, time.Time{}, ""},
	} {
		var f Finding
		(&Report{common: common{options: &test.o}}).suggest(&f, test.by, test.paths, test.since, test.until)
		if got := strings.TrimSpace(f.Text + " " + f.Command); !strings.HasSuffix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%+v: %s, want %s", test.o, got, test.want)
		}
	}
}

// TestPatternOf: a pattern matches its path, and can be shown.
func TestPatternOf(t *testing.T) {
	for path, want := range map[string]string{
		"a/b": "a/b", "a//b/": "a//b/", "/a": "*/a", "/": "*/", "a\nb/c": "*/c", "a/b\xff": "a/*", "a/\uFFFD/c": "a/*/c", `a\b`: "*", "a b/$(c)/'": "a b/$(c)/'", "*/x": "*/x",
	} {
		if got := patternOf(path); got != want || !matches([]byte(path), got) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

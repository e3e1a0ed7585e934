// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

func tableOf(t *testing.T, r *Report, o output.Options) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return output.Write(w, r, o) })
}

// TestTableFits: only commands are wider than the terminal, and nothing moves
// the cursor.
func TestTableFits(t *testing.T) {
	r := sample(t)
	var groups []Group
	for i := range r.Groups.Len() {
		groups = append(groups, *r.Groups.At(i))
	}
	r.Groups = GroupsOf(append(groups, groupOf(strings.Repeat("很长", 300)+hostile, [6]uint64{1e18, 1e18},
		groupby.Stage{Name: strings.Repeat("s\u0301", 200)}, stageOf("eon", 1<<62)))...)
	r.Groups.At(0).Errors = append(r.Groups.At(0).Errors, stages.ErrorTotal{Code: strings.Repeat(hostile, 1000), Total: 99})
	r.Slowest[1].Took = 1<<63 - 1
	r.Findings = append(r.Findings, Finding{Rule: hostile, Text: strings.Repeat("no-space", 100), Command: hostile})
	r.Inputs.Problems[0].Kind = logread.Problem(strings.Repeat(hostile, 20))
	r.By = strings.Repeat("label", 60)
	for _, columns := range []int{0, 60, 61, 79, 80, 81, 100, 120, 160, 200, 300} {
		most := columns
		if columns == 0 {
			most = 80
		}
		table := tableOf(t, r, output.Options{Width: columns})
		for line := range strings.Lines(table) {
			line = strings.TrimSuffix(line, "\n")
			if text.Width(line) > most && !strings.HasPrefix(line, "  regometer report ") {
				t.Errorf("%d columns: line of %d: %s", columns, text.Width(line), line)
			}
			if strings.ContainsFunc(line, unicode.IsControl) || strings.ContainsRune(line, '\u202e') {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
	}
}

func TestTableOfHealthyLog(t *testing.T) {
	r := reportOf(groupOf("rbac/allow", [6]uint64{1000}, stageOf("rego_query_eval", same(1000, 100*time.Microsecond)...)))
	r.Findings = find(r)
	markdown := written(t, func(w io.Writer) error { return output.Write(w, r, output.Options{Format: "markdown"}) })
	for _, text := range []string{tableOf(t, r, output.Options{}), markdown} {
		if !strings.Contains(text, "Nothing stands out") || !strings.Contains(text, "No problems.") {
			t.Error(text)
		}
	}
}

func TestGroupText(t *testing.T) {
	g := groupOf("p", [6]uint64{1, 2, 3, 4, 5000, 6})
	for _, code := range []string{"a", "b", "c\n", "d"} {
		g.Errors = append(g.Errors, stages.ErrorTotal{Code: code, Total: uint64(len(g.Errors) + 1)})
	}
	g.Counters = []groupby.Counter{{Name: queryHits, Total: groupby.Sum{Lo: 9}}}
	want := "5,016 decisions: 1 allowed, 2 denied, 3 with another result, 4 undefined, 5,000 failed, 6 cancelled. " +
		`Errors: d 4, c\n 3, b 2 and 1 more. Query cache: 100 % hits.`
	if got := new(Report).groupText(&g); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	one := groupOf("p", [6]uint64{1})
	if got := new(Report).groupText(&one); got != "1 decision: 1 allowed." {
		t.Error(got)
	}
}

// Columns give way to 24 columns of a name, and not to all of a long one.
func TestTableColumns(t *testing.T) {
	r := reportOf(groupOf("p", [6]uint64{1}, stageOf("a_stage_with_a_name_of_36_characters", 123*time.Millisecond)))
	if table := tableOf(t, r, output.Options{Width: 60}); !regexp.MustCompile(`(?m)^  stage +share +p50 +p99 +max$`).MatchString(table) {
		t.Errorf("60 columns:\n%s", table)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/text"
)

// The document has the rules in their order, with their thresholds.
func TestRulesDocumented(t *testing.T) {
	content, err := os.ReadFile("../../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	const percent = 100
	var want []string
	for _, r := range append([]rule{{name: "cluster"}}, rules...) {
		want = append(want, r.name+":"+strings.TrimSuffix(fmt.Sprintln(map[string][]any{
			"cluster":              {scanScore, scanLeast, scanLeast, slowLow, slowHigh, percent * slowPoints, scanRounds},
			"partly_read":          {percent * gapShare},
			"errors_rose":          {failedLeast, failedTimes, percent * failedPoints},
			"errors_high":          {failedTimes, percent * failedPoints, highErrors, percent * highShare},
			"all_denied":           {percent * alwaysShare, percent * seldomShare},
			"decisions_missing":    {gapLeast.Minutes(), gapMost.Hours(), gapTimes},
			"latency_rose":         {slowTimes, slowNoise},
			"server_slower":        {serverTimes},
			"revision_slower":      {revisionTimes, text.Duration(float64(revisionMore)), revisionCount, revisionParts, partCount, revisionNear, revisionStep},
			"http_send_uncached":   {httpDecisions, percent * httpShare, percent * httpHitRate},
			"queries_recompiled":   {compileCount, percent * compileRate},
			"handler_outside_rego": {percent * handlerShare, text.Duration(float64(handlerMean)), handlerDecisions},
			"stage_dominates":      {percent * stageShare, text.Duration(float64(stageMean)), stageDecisions},
			"path_long_tail":       {tailTimes, text.Duration(float64(tailLeast)), text.Count(tailCount)},
			"path_undefined":       {percent * undefinedShare, undefinedDecisions, percent * alwaysShare, percent * seldomShare},
			"wrapper_times":        {percent * wrapperShare},
		}[r.name]...), "\n"))
	}
	_, table, _ := strings.Cut(string(content), "<!-- rules:")
	table, _, _ = strings.Cut(table, "<!-- rules: end")
	numbers := regexp.MustCompile(`[0-9][0-9.,]*[0-9]( [µm]?s\b)?|[0-9]`)
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|[^|]*\\|([^|]*)\\|$").FindAllStringSubmatch(table, -1) {
		condition := strings.ReplaceAll(row[2], "p99", "")
		got = append(got, row[1]+":"+strings.Join(numbers.FindAllString(condition, -1), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/report.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

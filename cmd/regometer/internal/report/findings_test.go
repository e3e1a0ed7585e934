// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

const us, ms = time.Microsecond, time.Millisecond

// serverReport returns a report of one path and n decisions of a server, with
// stages of these self times each.
func serverReport(n int, self map[string]time.Duration) *Report {
	var stages []groupby.Stage
	for name, d := range self {
		stages = append(stages, stageOf(name, same(n, d)...))
	}
	return reportOf(groupOf("rbac/allow", [6]uint64{uint64(n)}, stages...))
}

// with returns a report with something in it changed.
func with(r *Report, change func(*Report)) *Report {
	change(r)
	return r
}

// ruleTests are reports with the parts of the text of a rule, or with none if
// the rule is silent.
var ruleTests = []struct {
	rule  string
	r     *Report
	parts []string
}{
	{"interrupted", with(healthy(), func(r *Report) { r.Interrupted = true }), []string{"interrupted"}},
	{"errors_high", failing(50, 1000), []string{"50 of 1,000 decisions (5.0 %) failed on path `rbac/allow`."}},
	{"errors_high", failing(50, 1001), nil},                                               // a small part
	{"errors_high", failing(49, 100), nil},                                                // too few
	{"errors_high", with(failing(50, 100), func(r *Report) { r.By = "label:team" }), nil}, // not by path
	{"errors_high", with(reportOf(groupOf("a", [6]uint64{900, outcome.Failed: 300}), groupOf("b", [6]uint64{700, outcome.Failed: 300})), func(r *Report) {
		r.byTime = []Finding{{Rule: "errors_rose", Path: "a", Text: "a"}}
	}), []string{"300 of 1,000 decisions (30.0 %) failed on path `b`"}}, // a scan has said the other one
	{"cancelled_high", reportOf(groupOf("p", [6]uint64{outcome.Cancelled: 50})), []string{"50 of 50 decisions (100 %) were cancelled on path `p`. Clients gave up"}},
	{"cancelled_high", reportOf(groupOf("p", [6]uint64{outcome.Cancelled: 49})), nil},
	{"http_send_unfinished", httpReport(10, 0), []string{"10 of 1,000 decisions (1.0 %) had a call of `http.send` that did not end on path `rbac/allow`."}},
	{"http_send_unfinished", httpReport(9, 0), nil},
	{"http_send_slow", httpReport(0, 20), []string{"20 of 1,000 calls of `http.send` (2.0 %) took a second or more, and 20 times the median on path `rbac/allow`."}},
	{"http_send_slow", httpReport(0, 19), nil},
	{"path_undefined", undefinedReport(40, 60), []string{"100 of 100 decisions (100 %) were undefined on 2 paths: `gone/1` (60 of 60), `gone/0` (40 of 40). "}},
	{"path_undefined", undefinedReport(40, 59), nil}, // too few
	{"path_undefined", with(undefinedReport(100), func(r *Report) { r.Groups.At(0).Outcomes = [6]uint64{outcome.Undefined: 94, outcome.Allowed: 6} }), nil}, // sometimes defined
	{"path_undefined", with(undefinedReport(100), func(r *Report) { r.Groups.At(0).Key = rollup.Other }), nil},                                              // the group of others
	{"path_undefined", with(undefinedReport(100), func(r *Report) { r.By = "label:team" }), nil},                                                            // not by path
	{"partly_read", gapReport(11, Gaps{Any: 11, Duration: 11}), []string{"a part of the log. Of 1,000 decisions, 11 have no duration above 0 (`no_metrics` 11). Find out what removes or changes `metrics`."}},
	{"partly_read", gapReport(11, Gaps{Any: 22, Time: 11, Result: 11}), []string{"11 have no readable time, 11 have", "changes `timestamp`. ", "masks `result`."}},
	{"partly_read", gapReport(11, Gaps{Any: 13, Duration: 11, Result: 2}), []string{"2 have no readable result. Find out what removes or changes `metrics`.", "!masks `result`"}},
	{"partly_read", gapReport(0, Gaps{Any: 10, Duration: 10}), nil}, // a small part
	{"partly_read", with(metricsReport(1000, 11), broken), []string{"Others could not be read: `invalid_json` 11."}},
	{"partly_read", with(metricsReport(1000, 10), broken), nil}, // a small part
	{"partly_read", with(metricsReport(1000, 1), func(r *Report) { r.Inputs.Problems[0].Kind = Damaged }), []string{"`damaged` 1", "copy damaged"}},
	{"decisions_lost", lossReport(logread.LostChunks, 12, started), []string{"log: `lost_chunks` 12, from 2026-03-01 14:00:00 to 2026-03-01 14:00:00 UTC. A chunk"}},
	{"decisions_lost", lossReport(logread.LostEvents, 1, 0), []string{"`lost_events` 1."}},
	{"uploads_failed", lossReport(logread.UploadFailed, 2, started), []string{"`upload_failed` 2, from 2026"}},
	{"events_large", largeReport(uploadLimit), nil},
	{"events_large", largeReport(uploadLimit + 1), []string{"of path `rbac/allow`, has 200 KB (input 85.0 %, nd_builtin_cache 12.5 %), and 32.8 KB after compression", "Of 1,000 decisions, 3 have more"}},
	{"keys_beyond_limit", with(healthy(), func(r *Report) { r.Overflow = 1 }), []string{"group `other` has 1 decision. "}},
	{"ids_repeated", with(healthy(), func(r *Report) {
		r.Inputs.Repeats = repeats.Counts{Count: 1, LeftOut: 2, FoundRepeats: repeats.Occurrences{N: 1, First: 0, Last: 1e9}}
	}), []string{
		"include 1 repeat, with the id, time and path of another decision, from 1970-01-01 00:00:00 to 1970-01-01 00:00:01 UTC. Without the repeats there are 999. To",
	}},
	{"ids_repeated", with(healthy(), func(r *Report) {
		r.Inputs.Repeats = repeats.Counts{Count: 200, LeftOut: 3000, Sample: 70, Missed: 9, FoundRepeats: repeats.Occurrences{N: 1, First: logread.NoTime, Last: logread.NoTime}}
	}), []string{"about 200 repeats (estimated from a sample of 70), with", " another decision. Without", "800. 3,000 other repeats were left out, but `--unique` remembers only 1,048,576 "}},
	{"ids_repeated", with(healthy(), func(r *Report) { r.Inputs.Repeats = repeats.Counts{LeftOut: 2, Reused: 1, Sample: 7, WithoutID: 3} }), nil}, // none that counts
	{"ids_reused", with(healthy(), func(r *Report) {
		r.Inputs.Repeats = repeats.Counts{Reused: 3, FoundReused: repeats.Occurrences{N: 3, First: 0, Last: 0}}
	}), []string{
		"The 1,000 decisions include 3 with the id of another decision, but another time or path, from ",
	}},
	{"ids_reused", with(healthy(), func(r *Report) { r.Inputs.Repeats = repeats.Counts{Count: 2} }), nil}, // with the same time and path
}

// healthy returns a report of which there is nothing to say.
func healthy() *Report {
	r := serverReport(1000, map[string]time.Duration{evaluationStage: 150 * us, handlerStage: 60 * us, inputStage: 20 * us})
	r.Groups.At(0).Counters = []groupby.Counter{{Name: queryHits, Total: groupby.Sum{Lo: 1000}}}
	return r
}

// failing returns a report of n decisions, of which some fail.
func failing(failed, n uint64) *Report {
	return reportOf(groupOf("rbac/allow", [6]uint64{outcome.Allowed: n - failed, outcome.Failed: failed}))
}

// httpReport returns a report of 1000 decisions, of which some have a call of
// http.send that does not end, or takes two seconds.
func httpReport(unfinished uint64, slow int) *Report {
	s := stageOf(httpStage, append(same(1000-slow, ms), same(slow, 2*time.Second)...)...)
	s.Unfinished = unfinished
	return reportOf(groupOf("rbac/allow", [6]uint64{1000}, s))
}

func undefinedReport(decisions ...uint64) *Report {
	groups := []Group{}
	for i, n := range decisions {
		groups = append(groups, groupOf(fmt.Sprintf("gone/%d", i), [6]uint64{outcome.Undefined: n}))
	}
	return reportOf(append(groups, groupOf("rbac/allow", [6]uint64{1000}))...)
}

func metricsReport(decisions, without int64) *Report {
	r := healthy()
	r.Inputs.Decisions = decisions
	r.Inputs.Problems = []Problem{{Kind: "no_metrics", Count: without}}
	return r
}

// gapReport returns a report with gaps, of which the log has a problem.
func gapReport(problems int64, g Gaps) *Report {
	return with(metricsReport(1000, problems), func(r *Report) { r.Inputs.Gaps = g })
}

// lossReport returns a report of what OPA says, once.
func lossReport(kind logread.Problem, n, at int64) *Report {
	r := healthy()
	r.Inputs.Problems = []Problem{{Kind: kind, Count: n, From: at, To: at}}
	return r
}

// largeReport returns a report whose largest event has this size after
// compression.
func largeReport(compressed uint64) *Report {
	return with(healthy(), func(r *Report) {
		r.largest = largest{Count: 3, Path: "rbac/allow", Compressed: compressed, Sizes: groupby.Sizes{Total: 200_000, Max: 200_000, Input: 170_000, Result: 1000, Cache: 25_000}}
	})
}

// broken makes the problem that of broken events.
func broken(r *Report) { r.Inputs.Problems[0].Kind = logread.InvalidJSON }

func findingOf(r *Report, rule string) Finding {
	for _, f := range find(r) {
		if f.Rule == rule {
			return f
		}
	}
	return Finding{}
}

func TestRules(t *testing.T) {
	spoke := map[string]bool{}
	for i, test := range ruleTests {
		f := findingOf(test.r, test.rule)
		text := strings.TrimSpace(f.Text + " " + f.Command)
		spoke[test.rule] = spoke[test.rule] || text != ""
		if (text == "") != (len(test.parts) == 0) || strings.Contains(text, "%!") || strings.Contains(text, "NaN") {
			t.Errorf("%d: %s says %q, want %q", i, test.rule, text, test.parts)
		}
		for _, part := range test.parts {
			if part, isWrong := strings.CutPrefix(part, "!"); strings.Contains(text, part) == isWrong {
				t.Errorf("%d: %s: %q\nlacks %q, or has it wrongly", i, test.rule, text, part)
			}
		}
	}
	if found := find(healthy()); len(found) > 0 {
		t.Errorf("a healthy report has %+v", found)
	}
	for _, r := range rules {
		if r.find != nil && !spoke[r.name] {
			t.Errorf("no report has a finding of rule %s", r.name)
		}
	}
}

func TestRulesDocumented(t *testing.T) {
	content, err := os.ReadFile("../../../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range RuleNames() {
		if !strings.Contains(string(content), "`"+name+"`") {
			t.Errorf("docs/report.md lacks %s", name)
		}
	}
}

func TestName(t *testing.T) {
	for s, want := range map[string]string{
		"": "(empty)", "a`b": "`a'b`", "\xff": "`\uFFFD`",
		strings.Repeat("é", 80):                           "`" + strings.Repeat("é", 80) + "`",
		strings.Repeat("a", 50) + strings.Repeat("b", 50): "`" + strings.Repeat("a", 39) + "…" + strings.Repeat("b", 40) + "`",
	} {
		if got := name(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

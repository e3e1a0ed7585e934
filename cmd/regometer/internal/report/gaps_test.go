// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
)

// logOf returns a log of n events with these members beside those of all.
func logOf(n int, members string) string {
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, `{"decision_id":"%d-%08d","path":"app/main",%s}`+"\n", len(members), i, members)
	}
	return log.String()
}

const (
	sampleTime    = `"timestamp":"2026-01-02T03:04:05Z"`
	sampleMetrics = `"metrics":{"counter_server_query_cache_hit":1,"timer_server_handler_ns":1000}`
)

// needing returns the rules with needs: those with the first, then those with
// another one.
func needing(needs ...needs) string {
	var names []string
	for _, n := range needs {
		for _, r := range rules {
			if r.needs&n != 0 && !slices.Contains(names, r.name) {
				names = append(names, r.name)
			}
		}
	}
	return strings.Join(names, " ")
}

// A report says first how much of the decisions it could use, and which rules
// did not run. Only if that is nearly all, nothing stands out.
func TestGaps(t *testing.T) {
	t.Parallel()
	whole := logOf(1000, sampleTime+`,"result":true,`+sampleMetrics)
	for log, want := range map[string]struct {
		gaps   Gaps
		says   string
		silent string // rules that did not run
		whole  bool   // nothing stands out
	}{
		whole: {Gaps{}, "Of 1,000 decisions, all times, durations and results could be read.", "", true},
		whole + logOf(10, sampleTime+`,"result":true,"metrics":{}`):                                          {Gaps{Duration: 10, Any: 10}, "Of 1,010 decisions, 10 have no duration above 0.", "", true},
		whole + logOf(11, sampleTime+`,"result":true,"metrics":{"timer_server_handler_ns":0,"counter_x":1}`): {Gaps{Duration: 11, Any: 11}, "Of 1,011 decisions, 11 have no duration above 0.", "", false},
		logOf(100, sampleTime+`,"result":true,"metrics":{"timer_server_handler_ns":"1 ms","counter_x":1}`): {Gaps{Duration: 100, Metric: 100, Any: 100},
			"Of 100 decisions, 100 have no duration above 0, 100 have a metric that cannot be read (`bad_metric` 100).\n" +
				"As no decision has a duration above 0, these rules did not run, or only in part: `latency_rose`, ",
			needing(needsDuration), false},
		whole + logOf(11, sampleTime+`,"result":true,"metrics":{"timer_server_handler_ns":"1 ms","timer_rego_query_eval_ns":1}`): {Gaps{Metric: 11, Any: 11},
			"Of 1,011 decisions, 11 have a metric that cannot be read (`bad_metric` 11).", "", false},
		whole + "[" + strings.Repeat(`{"decision_id":"y","x":NaN},`, 12) + "]\n": {Gaps{}, "could be read. Others could not be read: `invalid_json` 12.", "", false}, // one line
		whole + logOf(11, `"result":true`): {Gaps{Duration: 11, Time: 11, Any: 11},
			"Of 1,011 decisions, 11 have no duration above 0 (`no_metrics` 11), 11 have no readable time.", "", false},
		logOf(1, `"timestamp":"today","result":true,`+sampleMetrics): {Gaps{Time: 1, Any: 1},
			"Of 1 decision, 1 has no readable time (`bad_timestamp` 1).\nAs no decision has a readable time, ",
			needing(needsTime), false},
		logOf(1, `"result":true`): {Gaps{Duration: 1, Time: 1, Any: 1}, "As no decision has a duration above 0, ",
			needing(needsTime, needsDuration), false},
		logOf(1, `"@timestamp":"2026-01-02T03:04:05Z","result":true,`+sampleMetrics): {Gaps{}, "As more than 1 % of the times are those of wrappers, ",
			needing(needsTime), false},
		whole + logOf(11, sampleTime+`,"result":{"allow":"*"},"masked":["/result/allow"],`+sampleMetrics): {Gaps{Result: 11, Any: 11},
			"Of 1,011 decisions, 11 have no readable result.", "", false},
		logOf(1, sampleTime+`,"erased":["/result"],`+sampleMetrics):                                                 {Gaps{Result: 1, Any: 1}, "As all results are hidden, ", needing(needsResult), false},
		whole + logOf(11, sampleTime+`,"erased":["/result"],"error":{"code":"eval_conflict_error"},`+sampleMetrics): {Gaps{}, "all times", "", true},
		whole + strings.Repeat(`{"decision_id":"x","path":}`+"\n", 12):                                              {Gaps{}, "could be read. Others could not be read: `invalid_json` 12.", "", false},
	} {
		x := readLog(t, log, Options{})
		r := x.Report()
		var silent []string
		for _, n := range r.NotRun() {
			silent = append(silent, n.Rules...)
		}
		said := strings.Join(r.Coverage(), "\n")
		if r.Inputs.Gaps != want.gaps || !strings.Contains(said, want.says) || strings.Join(silent, " ") != want.silent {
			t.Errorf("%s: gaps %+v, %s, silent %q", want.says, r.Inputs.Gaps, said, silent)
		}
		table := tableOf(t, r, output.Options{Width: 4000})
		if strings.Contains(table, "Nothing stands out") != want.whole || !strings.HasPrefix(strings.Join(strings.Fields(table), " "), strings.ReplaceAll(said, "\n", " ")) {
			t.Errorf("%s\nwhole: %t", table, want.whole)
		}
	}
}

// Decisions without a time are not forgotten where a time selects.
func TestUnplaced(t *testing.T) {
	t.Parallel()
	log := logOf(100, sampleTime+`,"result":true,`+sampleMetrics) + logOf(2, `"result":true,`+sampleMetrics)
	for path, want := range map[string]int64{"app/*": 2, "other": 0} {
		r := readLog(t, log, Options{Since: time.Unix(1, 0), Paths: []string{path}}).Report()
		if said := strings.Join(r.Coverage(), " "); r.Inputs.Gaps.Unplaced != want || (want > 0) != strings.Contains(said, " 2 other decisions without a readable time are not selected.") ||
			(want > 0) != (len(r.Findings) == 1 && r.Findings[0].Rule == PartlyRead) {
			t.Errorf("%s: %+v, %s, %+v", path, r.Inputs.Gaps, said, r.Findings)
		}
	}
}

// What OPA says of lost decisions is a finding, also in a saved report.
func TestLosses(t *testing.T) {
	t.Parallel()
	line := func(minute int, message string) string {
		return fmt.Sprintf(`{"level":"error","msg":%q,"plugin":"decision_logs","time":"2026-01-02T03:%02d:00Z"}`+"\n", message, minute)
	}
	log := logOf(1000, sampleTime+`,"result":true,`+sampleMetrics) + line(4, "Dropped 3 chunks from buffer.") + line(1, "Log upload failed.") + line(2, "Dropped 4 chunks from buffer.")
	x := readLog(t, log, Options{})
	for _, x := range []*Data{x, saveAndLoad(t, x)} {
		found := x.Report().Findings
		if len(found) != 2 || found[0].Rule != "decisions_lost" || found[0].Figures["lost_chunks"] != 7 || found[0].From != "2026-01-02T03:02:00Z" || found[0].To != "2026-01-02T03:04:00Z" ||
			found[1].Rule != "uploads_failed" || found[1].Figures["upload_failed"] != 1 {
			t.Errorf("found %+v", found)
		}
	}
}

// A path with other results has an example of --outcome, with a field of them,
// or for lists of reasons.
func TestUnjudged(t *testing.T) {
	t.Parallel()
	log := func(n int, result string) string { return logOf(n, sampleTime+`,"result":`+result+`,`+sampleMetrics) }
	for log, rule := range map[string]string{
		log(100, `{"user":"x","granted":false}`):              "'app/main=result.granted'",
		log(100, `{"user":"x","not-a.field":true}`):           `'app/main=result.user == "TEXT"'`,
		log(100, `{"list":[{"ok":true}],"ok":"yes"}`):         `'app/main=result.ok == "TEXT"'`,
		log(100, `["the user is suspended"]`):                 `'app/main=not result'`,
		log(100, `"yes"`):                                     `'app/main=result == "TEXT"'`,
		log(95, `{}`) + log(5, `true`):                        `'app/main=result.FIELD'`,
		log(100, `7`):                                         "numbers, which no rule of `--outcome` judges.",
		log(99, `7`):                                          "",
		log(94, `7`) + log(6, `true`):                         "",
		strings.ReplaceAll(log(100, `{}`), "app/main", "a=b"): "`--outcome",
		strings.ReplaceAll(log(100, `7`), `"result":`, `"masked":["/result"],"result":`): "",
	} {
		said := readLog(t, log, Options{}).Report().Coverage()
		_, advice, _ := strings.Cut(said[len(said)-1], " another result")
		_, flag, _ := strings.Cut(advice, ": ")
		if flag = strings.TrimSuffix(strings.TrimPrefix(flag, "`--outcome "), "`."); flag != rule || strings.Contains(said[len(said)-1], "lists reasons") != strings.Contains(rule, "not result") {
			t.Errorf("%.100s: %q, want %s", log, said, rule)
		}
	}
}

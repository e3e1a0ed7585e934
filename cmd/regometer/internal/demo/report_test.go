// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not as in %s (go test -update rewrites it):\n%s", path, got)
	}
}

// recorded is the result of a run, what is in the log taken from the recorded
// one.
func recorded(t *testing.T) *result {
	t.Helper()
	r := &result{
		OPA: "1.2.3", Seed: 1, Requests: 1016,
		Metrics:      json.RawMessage(`{"counter_server_query_cache_hit":1,"timer_server_handler_ns":190186}`),
		Instrumented: json.RawMessage(`{"timer_b_ns":2,"histogram_a":{"75%":467.5,"90%":2273.900000000001,"95%":3158,"99%":3158,"99.9%":3158,"count":20}}`),
		Comparison: compare([]round{
			{dropIn: usage{3e-4, math.NaN(), 40000, 700}, unmodified: usage{4e-4, 8e-4, 50000, 750.4}, decisions: 1152},
			{dropIn: usage{2e-4, math.NaN(), 40010, 701}, unmodified: usage{4e-4, 9e-4, 50000, 750}},
			{dropIn: usage{4e-4, math.NaN(), 40020, 700}, unmodified: usage{2e-4, 8e-4, 50001, 750}},
		}),
		Compared: 66,
	}
	const file = "testdata/decisions.jsonl"
	if err := r.readLog(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	stages, err := readStages(log)
	if err != nil {
		t.Fatal(err)
	}
	scrape := map[string]*distribution{}
	for name, s := range stages {
		if exportedStage(name) == name {
			scrape[name] = distributionOf(s.values, 5)
		}
	}
	compareScraped(r.Stages, scrape)
	counts := logged(r.log)
	for _, o := range outcomes {
		r.Decisions = append(r.Decisions, outcomeCount{o, counts[o], counts[o]})
	}
	r.Decisions[0].Sent, r.Decisions[0].Logged = 1234, 1234
	r.Decisions[5] = outcomeCount{malformed, 40, 0}
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	for name, asJSON := range map[string]bool{"report.txt": false, "report.json": true} {
		var b bytes.Buffer
		if err := recorded(t).write(&b, asJSON, report.TableOptions{Width: 80}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
		if asJSON && !json.Valid(b.Bytes()) {
			t.Error("the report is no JSON")
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > lineWidth && !asJSON {
				t.Errorf("a line of %d characters: %s", n, line)
			}
		}
	}
}

func TestReportOfIncompleteRun(t *testing.T) {
	t.Parallel()
	r := &result{OPA: "1.2.3", Requests: 3, Incomplete: "interrupted", Decisions: []outcomeCount{{allowed, 3, 4}}, log: &report.Report{}}
	text := string(r.text(report.TableOptions{}))
	if want := "ended early"; !strings.Contains(text, want) {
		t.Errorf("%q is missing in:\n%s", want, text)
	}
	for _, not := range []string{"unmodified", "Stages", "Not as it must be", "agrees"} {
		if strings.Contains(text, not) {
			t.Errorf("%q should not be in:\n%s", not, text)
		}
	}
}

func TestReportOfInconsistentRun(t *testing.T) {
	t.Parallel()
	r := recorded(t)
	r.Decisions[1].Logged++
	err := r.consistent()
	if err == nil || !strings.Contains(err.Error(), `decisions "denied" instead of`) {
		t.Errorf("error %v", err)
	}
	if text := string(r.text(report.TableOptions{})); !strings.Contains(text, "Not as it must be: the decision log does not agree") {
		t.Errorf("the report does not tell:\n%s", text)
	}
	r = recorded(t)
	r.Decisions[5].Logged = 1
	if r.consistent() == nil {
		t.Error("a logged malformed request passed")
	}
	r = recorded(t)
	r.log.Inputs.Problems = []report.Problem{{Kind: "truncated", Count: 1}}
	if r.consistent() == nil {
		t.Error("a log with a problem passed")
	}
	r = recorded(t)
	r.Differences = []string{"a", "b", "c", "d", "e", "f", "g"}
	if err := r.consistent(); err == nil || !strings.HasSuffix(err.Error(), "does not agree with /metrics:\n  a\n  b\n  c\n  d\n  e\n  and 2 more") {
		t.Errorf("error %v", err)
	}
	if text := string(r.text(report.TableOptions{})); strings.Contains(text, "the plugin exported of the same") {
		t.Errorf("the report says that different figures are equal:\n%s", text)
	}
	r = recorded(t)
	r.Unexpected = "one answer was wrong"
	if r.consistent() == nil {
		t.Error("an unexpected answer passed")
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]string{
		0: "0 ns", 7: "7 ns", 999: "999 ns", 1000: "1.00 µs", 1005: "1.00 µs", 9994: "9.99 µs", 9996: "10.0 µs",
		99_949: "99.9 µs", 99_960: "100 µs", 999_400: "999 µs", 999_600: "1.00 ms", 12_345_678: "12.3 ms",
		1_500_000_000: "1.50 s", 2_000_000_000_000: "2000 s", -1500: "-1.50 µs",
	} {
		if got := duration(ns); got != want {
			t.Errorf("%d ns: %q, want %q", ns, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000",
	} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{3: {5, 1, 3}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		if got := median(values); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}

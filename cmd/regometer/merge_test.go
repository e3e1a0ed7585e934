// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
)

// After the whole report, findings of the named rules are a failure.
func TestFailOn(t *testing.T) {
	t.Chdir(t.TempDir())
	write("a.log", succeed(t, "sample", "--decisions", "5000"))
	write("twice.log", read("a.log")+read("a.log"))
	want := succeed(t, "report", "--save", "twice.rgm", "twice.log")
	for args, failed := range map[string]string{
		"report --fail-on errors_rose,ids_repeated --fail-on partly_read twice.log": "ids_repeated",
		"merge --fail-on ids_repeated twice.rgm":                                    "ids_repeated",
		"report --fail-on errors_rose twice.log":                                    "",
		"merge --fail-on errors_rose twice.rgm":                                     "",
	} {
		wantStatus, wantStderr := 0, ""
		if failed != "" {
			wantStatus, wantStderr = exitExceeded, "regometer: --fail-on: "+failed+": The 10,000 decisions include 5,000 repeats"
		}
		if status, stdout, stderr := call(t.Context(), strings.Fields(args)...); status != wantStatus || stdout != want || !strings.HasPrefix(stderr, wantStderr) || failed == "" && stderr != "" {
			t.Errorf("%s: status %d, want %d; prints\n%s%s", args, status, wantStatus, stdout, stderr)
		}
	}
	write("bad.log", strings.ReplaceAll(read("a.log"), `"metrics"`, `"other"`))
	if _, _, stderr := call(t.Context(), "compare", "bad.log", "a.log"); !strings.Contains(stderr, "regometer: bad.log: The report has only a part of the log. Of 5,000 decisions, 5,000 have no duration") {
		t.Errorf("compare prints %q", stderr)
	}
	var out, errs strings.Builder
	if status := run(t.Context(), []string{"compare", "a.log", "-"}, strings.NewReader(read("twice.log")), &out, &errs); status != 0 || !strings.Contains(errs.String(), "regometer: -: The 10,000 decisions include 5,000 repeats") {
		t.Errorf("compare with standard input: status %d, %q", status, errs.String())
	}
}

// Names from a log are visible where a failed check is printed.
func TestFailedChecksVisible(t *testing.T) {
	var b strings.Builder
	err := failedChecks(&b, []output.Check{{Name: "p50:a>+1%", Failed: true, Texts: []string{"\x1b[31m/\u202ea: p50 went up."}}, {Name: "other", Texts: []string{"b"}}})
	if want := `regometer: --fail-on: p50:a>+1%: \x1b[31m/\u202ea: p50 went up.` + "\n"; b.String() != want || err == nil {
		t.Errorf("%q, %v, want %q", b.String(), err, want)
	}
}

// A report without decisions is a failure, and says what was not selected.
func TestEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	write("a.log", succeed(t, "sample", "--decisions", "200"))
	write("empty.log", "")
	noError(os.Mkdir("folder", 0o777))
	succeed(t, "report", "--allow-empty", "--path", "nothing", "--save", "none.rgm", "a.log")
	const reason = "the report has no decisions; with --allow-empty the exit status is 0\n"
	for args, want := range map[string]string{
		"report empty.log":                                 "There are no decisions.",
		"report --path nothing a.log":                      "The flags select none of 200 decisions, which are from 2026-01-02 03:04:05 to 2026-01-02 03:04:05 UTC. Change `--path`, `--since` or `--until`.",
		"report --since 2026-01-03 a.log":                  "The flags select none of 200 decisions, which are from 2026-01-02",
		"report --allow-empty --since= --by day empty.log": "There are no decisions.",
		"report --allow-empty folder":                      "There are no decisions.",
	} {
		status, stdout, stderr := call(t.Context(), strings.Fields(args)...)
		stdout = strings.Join(strings.Fields(stdout), " ")
		why := map[bool]string{true: "regometer: standard input, or each file, is empty: ", false: "regometer: "}[args == "report empty.log"] + reason
		if strings.Contains(args, "--allow-empty") != (status == 0 && stderr == "") || status != 0 && (status != exitEmpty || stderr != why) || !strings.Contains(stdout, want) {
			t.Errorf("%s: status %d, prints\n%s\n%s", args, status, stdout, stderr)
		}
	}
	succeed(t, "report", "--save", "folder/a.rgm", "a.log")
	for args, want := range map[string]string{
		"compare --path nothing a.log a.log": "regometer: a.log has no decisions that --path, --since and --until select, so there is nothing to compare\n",
		"compare --path nothing folder a.log": "regometer: folder/a.rgm is a saved report, which has no decisions: name the logs, or run regometer merge FILE\n" +
			"regometer: folder has no decisions, so there is nothing to compare\n",
	} {
		if status, _, stderr := call(t.Context(), strings.Fields(args)...); status != exitEmpty || stderr != want {
			t.Errorf("%s: status %d, %s", args, status, stderr)
		}
	}
	if out := succeed(t, "merge", "none.rgm"); !strings.Contains(out, "There are no decisions.") {
		t.Errorf("merge, which has no flags that select, prints\n%s", out)
	}
}

// A comparison judges results like a report.
func TestCompareReads(t *testing.T) {
	t.Chdir(t.TempDir())
	log := strings.ReplaceAll(succeed(t, "sample", "--decisions", "2000", "--rate", "2"), `"result":true`, `"result":{"granted":true}`)
	write("a.log", log)
	write("b.log", strings.ReplaceAll(log, `"granted":true`, `"granted":false`))
	args := []string{"compare", "--path", "rbac", "--top", "0", "--outcome", "rbac/allow=result.granted", "a.log", "b.log"}
	if out := succeed(t, args...); !strings.HasPrefix(out, "Decisions changed in 1 of 1 path.") {
		t.Errorf("with --outcome:\n%s", out)
	}
}

// A rule of --outcome whose path no decision has is named. It may be misspelled.
func TestUnusedRules(t *testing.T) {
	t.Chdir(t.TempDir())
	write("a.log", succeed(t, "sample", "--decisions", "200"))
	write("p.rego", "package rbac\nallow := true")
	for _, command := range []string{"report a.log", "replay --policy p.rego a.log", "compare a.log a.log"} {
		args := command + " --outcome rbac/alow=result.a --outcome rbac/allow=result.b --outcome rbac/*=result.c --outcome x/*=result.d"
		const start, end = "regometer: --outcome: no selected decision has the path ", ": check how it is spelled\n"
		if _, _, stderr := call(t.Context(), strings.Fields(args)...); stderr != start+"rbac/alow"+end+start+"x/*"+end {
			t.Errorf("%s: %s", command, stderr)
		}
	}
}

// Reports that were saved and merged are printed as one over all logs.
func TestMerge(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, name := range []string{"a", "b", "c"} {
		write(name+".log", succeed(t, "sample", "--decisions", "200", "--seed", strconv.Itoa(i))+`{"decision_id":"cut","pa`+"\n")
		printed := succeed(t, "report", "--save", name+".rgm", name+".log")
		if again := succeed(t, "merge", name+".rgm"); again != printed {
			t.Errorf("of one file merge prints\n%s\nreport printed\n%s", again, printed)
		}
	}
	noError(os.Mkdir("days", 0o777), os.Rename("a.rgm", "days/a.rgm"), os.Rename("c.rgm", "days/c.rgm"), os.Link("days/a.rgm", "a.rgm"))
	succeed(t, "merge", "--save", "week.rgm", "days", "a.rgm")
	for _, format := range []string{"table", "json", "markdown"} {
		want := succeed(t, "report", "--format", format, "a.log", "b.log", "c.log")
		if got := succeed(t, "merge", "--format", format, "b.rgm", "week.rgm"); got != want {
			t.Errorf("%s: merge prints\n%s\nreport prints\n%s", format, got, want)
		}
	}

	succeed(t, "report", "--by", "hour", "--save", "hour.rgm", "a.log")
	for args, want := range map[string]string{
		"merge week.rgm hour.rgm":        "hour.rgm and week.rgm cannot be merged: one is grouped by hour, the other by path",
		"compare --unique a.rgm a.log":   "a.rgm: --unique does not work with saved reports",
		"compare --path a a.log a.rgm":   "a.rgm: --path does not work with saved reports",
		"compare --since 1h a.rgm b.rgm": "a.rgm: --since does not work with saved reports",
		"compare --by day a.log a.rgm":   "a.rgm was saved with --by path",
		"compare hour.rgm a.log":         "the report before is grouped by hour, and the one after by path",
		"report --save . a.log":          "is a folder",
		"merge --save days/a.rgm days":   "is also the input days/a.rgm",
	} {
		if status, stdout, stderr := call(t.Context(), strings.Fields(args)...); status != exitFailure || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, prints %s%s, want %q", args, status, stdout, stderr, want)
		}
	}
}

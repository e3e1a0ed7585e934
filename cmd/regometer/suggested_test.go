// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// decided is a decision of a log.
type decided struct {
	i                    int
	minute               float64 // of the log, from 0 to 60
	path, server, client string
	revision             string
}

// suggested are faults with a finding that suggests a command. Its report has
// the bad decisions, and in the group of the key hardly any other.
var suggested = []struct {
	rule, key string
	flags     []string // of the first report
	path      string   // JSON of the name of the path app/one
	good, bad string   // results
	times     int      // how many times as long bad decisions take
	isBad     func(d decided) bool
}{
	{"errors_rose", "", nil, "", "", failed, 1, func(d decided) bool { return d.minute >= 20 && d.minute < 30 && d.i%2 == 0 }},
	{"errors_high", "opa-1", nil, "", "", failed, 1, func(d decided) bool { return d.server == "opa-1" && d.i%5 == 0 }},
	{"denied_rose", "", []string{"--path", "app", "--path", "none"}, "", "", `"result":false`, 1, onePath},
	{"denied_rose", "", []string{"--outcome", "app/it's=result.granted"}, "app/it's", `"result":{"granted":true}`, `"result":{"granted":false}`, 1, onePath},
	{"decisions_missing", "", nil, "", "", "", 1, func(d decided) bool { return d.minute >= 32 }},
	{"latency_rose", "", []string{"--since", "2026-01-02T03:05:00.5Z", "--until", "2026-01-02T03:50:00.25Z"}, "", "", "", 5, onePath},
	{"latency_rose", "", nil, "", "", "", 5, func(d decided) bool { return d.path == "app/one" && d.minute < 30 }},
	{"server_slower", "opa-2", nil, "", "", "", 5, func(d decided) bool { return d.server == "opa-2" }},
	{"client_slower", "10.0.0.3", nil, "", "", "", 5, func(d decided) bool { return d.client == "10.0.0.3" }},
	{"revision_slower", "b=r2", nil, "", "", "", 5, func(d decided) bool { return d.minute >= 30 }},
	{"undefined_rose", "", nil, "", "", `"req_id":1`, 1, onePath},
	{"latency_rose", "", nil, "a/$(touch x);`id`, 'b'  \\\"-c\\\"!", "", "", 5, onePath},
	{"latency_rose", "", nil, "-a/b\\n\\u0000c/\xff/\\\\/d" + strings.Repeat("e", 100), "", "", 5, onePath},
	{"latency_rose", "(none)", nil, strings.Repeat("a", 1100), "", "", 5, onePath},
}

const failed = `"error":{"code":"internal_error"}`

func onePath(d decided) bool { return d.path == "app/one" && d.minute >= 30 }

// faultyLog returns a log of one hour with fault n.
func faultyLog(n int) string {
	var b strings.Builder
	test, decisions := suggested[n], 4000
	for i := range decisions {
		d := decided{i: i, minute: float64(i) * 60 / float64(decisions), path: []string{"app/one", "app/two", "shop/three"}[i%3],
			server: fmt.Sprint("opa-", i/3%3), client: fmt.Sprint("10.0.0.", i/9%8), revision: "r1"}
		took, result, mark, bad := 400_000+i*7919%200_000, `"result":true`, "", test.isBad(d)
		switch {
		case test.rule == "decisions_missing" && d.minute >= 20 && !bad:
			continue
		case test.rule == "revision_slower" && bad:
			d.revision = "r2"
		}
		if d.path == "app/one" {
			d.path, result = cmp.Or(test.path, d.path), cmp.Or(test.good, result)
		}
		if bad {
			took, result = took*test.times, cmp.Or(test.bad, result)
			if d.minute < 50 || !slices.Contains(test.flags, "--until") {
				mark = `,"counter_bad":1`
			}
		}
		fmt.Fprintf(&b, `{"decision_id":"%t-%07d","labels":{"id":"%s"},"bundles":{"b":{"revision":"%s"}},"path":"%s",%s,"requested_by":"%s:80","timestamp":"%s",`+
			`"metrics":{"timer_server_handler_ns":%d,"timer_rego_query_eval_ns":%d%s}}`+"\n", bad, i, d.server, d.revision, d.path, result, d.client,
			time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(d.minute*float64(time.Minute))).Format(time.RFC3339Nano), took, took-9000, mark)
	}
	return b.String()
}

// suggestedIn finds the commands in each form of output.
var suggestedIn = map[string]func(output string) []string{
	"table":    func(s string) []string { return submatches(`(?m)^  (regometer report .*)$`, s) },
	"markdown": func(s string) []string { return submatches("(?m)^  ```sh\n  (regometer report .*)\n  ```$", s) },
	"html":     func(s string) []string { return submatches(`(?s)<pre>(.*?)</pre>`, html.UnescapeString(s)) },
	"github": func(s string) []string {
		return submatches(`(?m)(regometer report .*)$`, strings.ReplaceAll(s, "%25", "%"))
	},
	"junit": func(s string) []string {
		return submatches(`(?m)(regometer report .*?)(?:</system-out>|</failure>|$)`, html.UnescapeString(s))
	},
}

func submatches(pattern, s string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(s, -1) {
		found = append(found, m[1])
	}
	return found
}

type reportJSON struct {
	Findings []struct{ Rule, Text, Command, From, To string }
	Groups   []map[string]any
	Slowest  []struct {
		ID string `json:"decision_id"`
	}
}

func parsedReport(s string) (r reportJSON) {
	noError(json.Unmarshal([]byte(s), &r))
	return r
}

// shell runs a script in the current folder, where regometer is the command.
func shell(t *testing.T, script, stdin string) string {
	t.Helper()
	bin := t.TempDir()
	write(filepath.Join(bin, "regometer"), "#!/bin/sh\n"+isCommand+"=1 exec "+os.Args[0]+` "$@"`+"\n")
	noError(os.Chmod(filepath.Join(bin, "regometer"), 0o755))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}

// TestSuggestedCommands: each form of output has the same command, which shows
// the fault when a shell runs it.
func TestSuggestedCommands(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	const file = "-it's a $(touch x).log"
	for n, test := range suggested {
		t.Run(fmt.Sprint(n, " ", test.rule), func(t *testing.T) {
			log := faultyLog(n)
			write(file, log)
			write("copy.log", log)
			first := func(input string) (rule, command, times string) {
				var stdout, stderr strings.Builder
				args := slices.Concat([]string{"report", "--format", "json", "--save", "a.rgm", "--force"}, test.flags, []string{"--", input})
				if status := run(t.Context(), args, strings.NewReader(log), &stdout, &stderr); status != 0 {
					t.Fatal(stderr.String())
				}
				f := parsedReport(stdout.String()).Findings[0]
				return f.Rule, f.Command, f.From + f.To
			}
			rule, command, times := first(file)
			if rule != test.rule || command == "" {
				t.Fatalf("finding %s, want %s", rule, test.rule)
			}
			for form, find := range suggestedIn {
				output := succeed(t, slices.Concat([]string{"report", "--html", "page.html", "--format", strings.Replace(form, "html", "table", 1)}, test.flags, []string{"--", file})...)
				if form == "html" {
					output = read("page.html")
				}
				if got := find(output); !slices.Equal(got, []string{command}) {
					t.Errorf("%s: the commands are %q, want %q", form, got, command)
				}
			}
			commands := map[string]string{command: ""}
			_, command, _ = first("-")
			commands[command] = log
			if test.flags == nil {
				commands[parsedReport(succeed(t, "merge", "--format", "json", "a.rgm")).Findings[0].Command+" copy.log"] = ""
			}
			for command, stdin := range commands {
				checkSuggested(t, test.rule, test.key, times, log, parsedReport(shell(t, strings.Replace(command, "report", "report --format json", 1), stdin)))
			}
			if _, err := os.Stat("x"); err == nil {
				t.Fatalf("a shell runs a part of the log: %s", command)
			}
		})
	}
}

// checkSuggested checks the report of a suggested command.
func checkSuggested(t *testing.T, rule, key, times, log string, r reportJSON) {
	t.Helper()
	bad, all := 0.0, 0.0
	for _, g := range r.Groups {
		n, _ := g["counters"].(map[string]any)["bad"].(float64)
		bad += n
		for _, k := range g {
			if k == key || key == "" && k == g["decisions"] {
				all += g["decisions"].(float64)
			}
		}
	}
	want := float64(strings.Count(log, `"counter_bad"`))
	most := want + 3 // of the same second
	switch {
	case rule == "decisions_missing":
		if len(r.Findings) == 0 || r.Findings[0].From+r.Findings[0].To != times {
			t.Errorf("findings %+v, want the same pause", r.Findings)
		}
	case rule == "errors_high":
		most = 5*want + 5
	case rule == "errors_rose":
		most = 2*want + 20
	}
	if bad != want || all > most || all < want && key != "(none)" { // a path too long to select has no group
		t.Errorf("%v of %v bad decisions, among %v", bad, want, all)
	}
}

// TestDocumentedFindings: the documents show what the commands before print,
// and the command that is suggested there runs.
func TestDocumentedFindings(t *testing.T) {
	example := regexp.MustCompile("(?s)```sh\n([^`]*)```\n\n```text\n(Of .*?)```\n")
	for _, document := range []string{"testdata/root/README.md", "testdata/root/docs/report.md"} {
		m := example.FindStringSubmatch(read(document))
		if m == nil {
			t.Fatalf("%s shows no findings", document)
		}
		t.Run(filepath.Base(document), func(t *testing.T) {
			t.Chdir(t.TempDir())
			if got := shell(t, m[1], ""); !strings.HasPrefix(got, m[2]) {
				t.Errorf("got\n%s\nwant\n%s", got, m[2])
			}
			sample, _, _ := strings.Cut(m[1], "regometer report")
			for _, command := range suggestedIn["table"](m[2]) {
				since := strings.Replace(submatches(`--since (\S+)Z `, command)[0], "T", " ", 1)
				if got := shell(t, sample+command, ""); !strings.Contains(got, "From "+since+" to ") || !strings.Contains(got, "Decisions by label:id") {
					t.Errorf("%s prints\n%s", command, got)
				}
			}
		})
	}
}

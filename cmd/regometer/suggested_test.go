// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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

// decided is a decision of a log. Those of a fault are bad.
type decided struct {
	minute                         float64 // of the log, from 0 to 60
	path, server, client, revision string
	took                           int // µs
	outcome                        string
	bad, lost                      bool
}

// faultyLog returns a log of one hour. The fault changes decisions.
func faultyLog(fault func(d *decided, i int)) string {
	var b strings.Builder
	for i := range 4000 {
		d := decided{minute: float64(i) * 60 / 4000, path: []string{"app/one", "app/two", "shop/three"}[i%3], server: fmt.Sprint("opa-", i/3%3),
			client: fmt.Sprint("10.0.0.", i/9%8), revision: "r1", took: 400 + i*7919%200, outcome: `"result":true`}
		if fault(&d, i); d.lost {
			continue
		}
		bad := ""
		if d.bad {
			bad = `,"counter_bad":1`
		}
		fmt.Fprintf(&b, `{"decision_id":"%t-%07d","labels":{"id":"%s"},"bundles":{"b":{"revision":"%s"}},"path":"%s",%s,"requested_by":"%s:80","timestamp":"%s",`+
			`"metrics":{"timer_server_handler_ns":%d,"timer_rego_query_eval_ns":%d%s}}`+"\n", d.bad, i, d.server, d.revision, d.path, d.outcome, d.client,
			time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(d.minute*float64(time.Minute))).Format(time.RFC3339Nano), d.took*1000, d.took*990, bad)
	}
	return b.String()
}

// suggested are faults with a finding that suggests a command. Its report has
// the bad decisions, and in the group of the key hardly any other.
var suggested = map[string]struct {
	rule, key string
	flags     []string // of the first report
	fault     func(d *decided, i int)
}{
	"errors for a while": {"errors_rose", "", nil, func(d *decided, i int) {
		if d.bad = d.minute >= 20 && d.minute < 30 && i%2 == 0; d.bad {
			d.outcome = `"error":{"code":"internal_error"}`
		}
	}},
	"errors of a server": {"errors_high", "opa-1", nil, func(d *decided, i int) {
		if d.bad = d.server == "opa-1" && i%5 == 0; d.bad {
			d.outcome = `"error":{"code":"internal_error"}`
		}
	}},
	"path denied": {"all_denied", "", []string{"--path", "app", "--path", "none"}, func(d *decided, _ int) {
		if d.bad = d.path == "app/two" && d.minute >= 40; d.bad {
			d.outcome = `"result":false`
		}
	}},
	"results of a rule": {"all_denied", "", []string{"--outcome", "app/it's=result.granted"}, func(d *decided, _ int) {
		if d.path == "app/two" {
			d.path, d.bad = "app/it's", d.minute >= 40
			d.outcome = fmt.Sprintf(`"result":{"granted":%t}`, !d.bad)
		}
	}},
	"no decisions": {"decisions_missing", "", nil, func(d *decided, _ int) {
		d.lost, d.bad = d.minute >= 20 && d.minute < 32, d.minute >= 32
	}},
	"path slower": {"latency_rose", "", []string{"--since", "2026-01-02T03:05:00.5Z", "--until", "2026-01-02T03:50:00.25Z"}, func(d *decided, _ int) {
		if d.path == "app/one" && d.minute >= 30 {
			d.took, d.bad = d.took*5, d.minute < 50
		}
	}},
	"path slower until": {"latency_rose", "", nil, func(d *decided, _ int) {
		if d.bad = d.path == "app/one" && d.minute < 30; d.bad {
			d.took *= 5
		}
	}},
	"server slower": {"server_slower", "opa-2", nil, func(d *decided, _ int) { d.slowIf(d.server == "opa-2") }},
	"client slower": {"client_slower", "10.0.0.3", nil, func(d *decided, _ int) { d.slowIf(d.client == "10.0.0.3") }},
	"revision slower": {"revision_slower", "b=r2", nil, func(d *decided, _ int) {
		if d.slowIf(d.minute >= 30); d.bad {
			d.revision = "r2"
		}
	}},
	"stage slow": {"stage_dominates", "", nil, func(d *decided, i int) {
		if d.took *= 5; i%300 == 0 {
			d.slowIf(true)
		}
	}},
	"long tail": {"path_long_tail", "", nil, func(d *decided, i int) {
		if d.path == "app/one" && i%40 == 0 {
			d.took, d.bad = d.took*100, true
		}
	}},
	"path undefined": {"path_undefined", "", nil, func(d *decided, _ int) {
		if d.bad = d.path == "app/two" && d.minute < 30; d.bad {
			d.outcome = `"req_id":1`
		}
	}},
	"hostile path": {"latency_rose", "", nil, func(d *decided, _ int) {
		if d.path == "app/one" {
			d.path = "a/$(touch x);`id`, 'b'  \\\"-c\\\"!"
			d.slowIf(d.minute >= 30)
		}
	}},
	"replaced path": {"latency_rose", "", nil, func(d *decided, _ int) {
		if d.path == "app/one" {
			d.path = "-a/b\\n\\u0000c/\xff/\\\\/d" + strings.Repeat("e", 100)
			d.slowIf(d.minute >= 30)
		}
	}},
	"huge path": {"latency_rose", "(none)", nil, func(d *decided, _ int) {
		if d.path == "app/one" {
			d.path = strings.Repeat("a", 1100)
			d.slowIf(d.minute >= 30)
		}
	}},
}

func (d *decided) slowIf(bad bool) {
	if d.bad = bad; bad {
		d.took *= 5
	}
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
	for name, test := range suggested {
		t.Run(name, func(t *testing.T) {
			log := faultyLog(test.fault)
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
				output := succeed(t, slices.Concat([]string{"report", "--html", "page.html", "--format", strings.Replace(form, "html", "csv", 1)}, test.flags, []string{"--", file})...)
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
		for _, by := range []string{"path", "label:id", "requested_by", "bundle", "hour"} {
			if k, ok := g[by]; ok && (key == "" || k == key || key == "(none)") {
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
	case rule == "stage_dominates" || rule == "path_long_tail":
		if most = 4000; len(r.Slowest) != 10 || slices.ContainsFunc(r.Slowest, func(d struct {
			ID string `json:"decision_id"`
		}) bool {
			return !strings.HasPrefix(d.ID, "true")
		}) {
			t.Errorf("the slowest decisions are %+v", r.Slowest)
		}
	case rule == "errors_high" || key == "(none)":
		most = 4000
	case rule == "errors_rose":
		most = 2*want + 20
	}
	if bad != want || all > most {
		t.Errorf("%v of %v bad decisions, among %v", bad, want, all)
	}
}

// TestDocumentedFindings: the documents show what the commands before print,
// and the command that is suggested there runs.
func TestDocumentedFindings(t *testing.T) {
	example := regexp.MustCompile("(?s)```sh\n([^`]*)```\n\n```text\n(Findings\n.*?)```\n")
	for _, document := range []string{"../../README.md", "../../docs/report.md"} {
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

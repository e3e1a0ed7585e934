// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

// TestCalls: wrong calls say what is wrong, and what to do. No call needs a
// network.
func TestCalls(t *testing.T) {
	tree, empty, bin, program, recorded := tinyOPA(t), t.TempDir(), t.TempDir(), t.TempDir(), tinyOPA(t)
	write(filepath.Join(bin, "log.xz"), "\xfd7zXZ\x00\x00\x04")
	write(filepath.Join(program, "go.mod"), "module example.com/program\n\ngo 1.26\n")
	write(filepath.Join(recorded, "record.go"),
		"package main\n\nimport \"os\"\n\nfunc init() {\n\tos.Setenv(\"X\", `regometer build record 1: {\"regometer\":\"v0.1.0\",\"opa\":\"1.5.0\",\"upstream\":3}` + \"\\n\")\n}\n")
	t.Setenv("REGOMETER_CACHE", filepath.Join(t.TempDir(), "cache"))
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	succeed(t, "build", "--no-plugin", "--opa", tree, "-o", filepath.Join(bin, "opa"))
	succeed(t, "build", "--unmodified", "--opa", tree, "-o", filepath.Join(bin, "unmodified"))
	succeed(t, "build", "--unmodified", "--opa", recorded, "-o", filepath.Join(bin, "recorded"))
	places := strings.NewReplacer("EMPTY", empty, "TREE", tree, "BIN", bin, "PROGRAM", program, "GOTOOL", must(exec.LookPath("go")), "NEWEST", opabuild.NewestVersion)
	for _, c := range []struct {
		args   string
		status int
		want   string // in what the call prints
	}{
		{"--help", 0, "Available Commands:"},
		{"biuld", exitUsage, `unknown command "biuld"`},
		{"build --unknown", exitUsage, "flags for go build come after the package and --"},
		{"build ./a ./b", exitUsage, "name one package, not 2"},
		{"build --opa NEWEST ./cmd/x", exitUsage, "--opa works only for OPA itself"},
		{"build --upstream 3", exitUsage, "--upstream works only for OPA itself, not for the program 3"},
		{"build -C PROGRAM --unmodified", exitUsage, "--unmodified works only for OPA itself, not for the program PROGRAM"},
		{"build -C PROGRAM --write-source EMPTY/x", exitUsage, "--write-source works only for OPA itself"},
		{"build -C PROGRAM/none", exitFailure, "there is no folder PROGRAM/none"},
		{"build -C EMPTY", exitFailure, "EMPTY is not in a Go module"},
		{"build -C PROGRAM", exitFailure, "finds no package github.com/open-policy-agent/opa/v1/metrics"},
		{"build -C TREE", exitFailure, "TREE is OPA itself, not a program with OPA inside: use --opa TREE"},
		{"build -C PROGRAM -- -modfile=go.mod", exitFailure, "-modfile cannot be passed on"},
		{"build -C PROGRAM -- -o x", exitFailure, "name the file before the --"},
		{"build -- -race", exitUsage, `the flags ["-race"] are for the go command, but no program is named`},
		{"build --opa EMPTY", exitFailure, "EMPTY is not the root of an OPA source tree"},
		{"build --opa 0.68.0", exitFailure, "OPA v0.68.0 is too old"},
		{"build --opa NEWEST", exitFailure, "cannot get OPA NEWEST"},
		{"build --upstream=0", exitUsage, "must be 1 or more"},
		{"build --upstream --unmodified --pure --no-plugin", exitUsage, "use only one of these flags: no-plugin pure unmodified upstream"},
		{"opa --pure --unmodified", exitUsage, "use only one of these flags: pure unmodified"},
		{"merge --unique EMPTY/a.rgm", exitFailure, "--unique does not work with saved reports"},
		{"merge", exitUsage, "no saved reports: name files that regometer report --save wrote"},
		{"merge EMPTY/missing.rgm", exitFailure, "EMPTY/missing.rgm: no such file"},
		{"merge TREE/main.go", exitFailure, "TREE/main.go is not a saved report"},
		{"demo --duration 0s", exitFailure, "the duration must be greater than 0"},
		{"demo --keep TREE", exitFailure, "TREE is not empty: name a new or empty folder"},
		{"report", exitUsage, "no decision logs: name files, folders, or - for standard input"},
		{"report no-such.log", exitFailure, "regometer: no-such.log: no such file"},
		{"report --by colour EMPTY", exitUsage, `unknown grouping "colour": use path, bundle,`},
		{"report --since tomorrow EMPTY", exitUsage, "or 90m for 90 minutes ago"},
		{"report --since 2999-01-01 EMPTY", exitUsage, "or 90m for 90 minutes ago"},
		{"report --outcome app/main EMPTY", exitUsage, "write PATH=RULE"},
		{"report EMPTY", exitFailure, "there is no file in EMPTY"},
		{"report TREE/go.mod", exitEmpty, "TREE/go.mod has no decision: it begins with: module"},
		{"report BIN/log.xz", exitEmpty, "xz -dc FILE | regometer report -"},
		{"report --fail-on errors_rose,slow TREE/go.mod", exitUsage, `no rule is named "slow": use one of`},
		{"compare --fail-on p99>1 EMPTY EMPTY", exitUsage, `invalid threshold "p99>1"`},
		{"compare EMPTY", exitUsage, "name two logs or saved reports, before and after, not 1"},
		{"compare - -", exitUsage, "standard input cannot be both sides"},
		{"help no-such", exitUsage, `unknown command "no-such"`},
		{"completion no-such", exitUsage, `unknown command "no-such"`},
		{"completion", exitUsage, "name a shell"},
		{"replay EMPTY", exitUsage, "there is no policy: name it with --policy"},
		{"replay --policy TREE --against= EMPTY", exitUsage, "--policy or --against is empty"},
		{"replay --fail-on denied>+5pp EMPTY", exitUsage, `invalid threshold "denied>+5pp"`},
		{"replay --fail-on p99:rego_query_eval>+20% --policy TREE EMPTY", exitUsage, "a threshold for times needs --against"},
		{"replay --policy EMPTY/none TREE/go.mod", exitFailure, "loading: EMPTY/none: no such file"},
		{"replay --policy TREE TREE/go.mod", exitFailure, "there are no Rego files: name them with"},
		{"sample --size big", exitUsage, "write a size such as 500KB"},
		{"sample --slower rego_query_eval=2@-1s", exitUsage, "AFTER not below 0"},
		{"__complete compare --format t", 0, "github\njson\njunit\nmarkdown\ntable\n"},
		{"verify --opa TREE --packages v1/nothing", exitFailure, "go list: exit status 1"},
		{"verify --quick --packages v1/metrics", exitUsage, "use only one of these flags: packages quick"},
		{"verify --run (", exitFailure, "--run: error parsing regexp"},
		{"verify --quick ./...", exitUsage, "--quick works only for OPA itself"},
		{"version", 0, "\nopa: " + opabuild.OldestVersion + " to " + opabuild.NewestRange + "\ndrop-in: sha256:"},
		{"version BIN/opa", 0, "\nopa: 1.5.0\ndrop-in: sha256:"},
		{"version BIN/unmodified", 0, "\nopa: unknown version, unmodified\ndrop-in: none\nplugin: none\n"},
		{"version BIN/recorded", 0, "\nopa: 1.5.0, with the series for OPA up to step 3\ndrop-in: none\nplugin: none\n"},
		{"version BIN/missing", exitFailure, "BIN/missing: no such file"},
		{"version EMPTY", exitFailure, "it is not a regular file"},
		{"version TREE/main.go", exitFailure, "TREE/main.go is not a binary that Go built"},
		{"version GOTOOL", exitFailure, "has no OPA inside: it is built from cmd/go"},
	} {
		status, stdout, stderr := call(t.Context(), strings.Fields(places.Replace(c.args))...)
		usage := strings.HasSuffix(stderr, " --help' for usage.\n")
		if status != c.status || !strings.Contains(stdout+stderr, places.Replace(c.want)) || usage != (status == exitUsage) {
			t.Errorf("regometer %s: status %d, want %d and %q:\n%s%s", c.args, status, c.status, c.want, stdout, stderr)
		}
	}
	t.Setenv("PATH", empty)
	if status, _, stderr := call(t.Context(), "build"); status != exitFailure || !strings.Contains(stderr, "no Go toolchain on PATH: install Go") {
		t.Errorf("without Go: status %d: %s", status, stderr)
	}
}

// What a program gets from Regometer is true for a server of its own too.
func TestPrintBinary(t *testing.T) {
	for want, b := range map[string]opabuild.Binary{
		"plugin: none\n": {},
		"plugin: gets decisions straight from OPA's server\n":                                                {Record: opabuild.Record{Plugin: true, Hook: true}},
		"plugin: gets decisions through the decision log\n":                                                  {Record: opabuild.Record{Plugin: true}, Program: "x"},
		"plugin: gets the decisions of OPA's server straight from it, and others through the decision log\n": {Program: "x", Record: opabuild.Record{Plugin: true, Hook: true}},
	} {
		var text strings.Builder
		if printBinary(&text, &b); !strings.HasSuffix(text.String(), "\n"+want) {
			t.Errorf("%+v:\n%swant\n%s", b, &text, want)
		}
	}
}

// TestExamples checks that the examples in the help are valid calls.
func TestExamples(t *testing.T) {
	root := newRootCommand()
	for _, cmd := range append(root.Commands(), root) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " >")
			line = line[strings.LastIndex(line, "regometer "):]        // behind a pipe
			words := strings.Fields(strings.ReplaceAll(line, "'", "")) // as a shell
			found, args, err := newRootCommand().Find(words[1:])
			if err == nil {
				err = found.ParseFlags(args)
			}
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err == nil {
				err = found.ValidateFlagGroups()
			}
			if err != nil || words[0] != "regometer" || !found.HasParent() {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
			}
		}
	}
}

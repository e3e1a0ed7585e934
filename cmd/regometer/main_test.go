// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/opabuild"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestGolden compares the output and the exit status of calls with testdata. No
// call needs a network.
func TestGolden(t *testing.T) {
	tree, empty, bin, program, recorded := tinyOPA(t), t.TempDir(), t.TempDir(), t.TempDir(), tinyOPA(t)
	write(filepath.Join(bin, "log.xz"), "\xfd7zXZ\x00\x00\x04")
	write(filepath.Join(program, "go.mod"), "module example.com/program\n\ngo 1.26\n")
	write(filepath.Join(recorded, "record.go"),
		"package main\n\nimport \"os\"\n\nfunc init() {\n\tos.Setenv(\"X\", `regometer build record 1: {\"regometer\":\"v0.1.0\",\"opa\":\"1.5.0\",\"upstream\":3}` + \"\\n\")\n}\n")
	t.Setenv("REGOMETER_CACHE", filepath.Join(t.TempDir(), "cache"))
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	type golden struct {
		name, args string
		setup      func(t *testing.T)
	}
	calls := []golden{
		{name: "help", args: "--help"},
		{name: "unknown-command", args: "biuld"},
		{name: "unknown-flag", args: "build --unknown"},
		{name: "build-two", args: "build ./a ./b"},
		{name: "build-program-opa", args: "build --opa NEWEST ./cmd/x"},
		{name: "build-program-upstream", args: "build -C PROGRAM --upstream"},
		{name: "build-program-unmodified", args: "build -C PROGRAM --unmodified"},
		{name: "build-program-folder", args: "build -C PROGRAM/none"},
		{name: "build-program-no-module", args: "build -C EMPTY"},
		{name: "build-program-no-opa", args: "build -C PROGRAM"},
		{name: "build-program-is-opa", args: "build -C TREE"},
		{name: "build-program-modfile", args: "build -C PROGRAM -- -modfile=go.mod"},
		{name: "build-program-output", args: "build -C PROGRAM -- -o x"},
		{name: "build-flags-alone", args: "build -- -race"},
		{name: "build-no-such-folder", args: "build --opa ./no-such-folder"},
		{name: "build-not-opa", args: "build --opa EMPTY"},
		{name: "build-too-old", args: "build --opa 0.68.0"},
		{name: "build-no-network", args: "build --opa NEWEST"},
		{name: "build-upstream-none", args: "build --upstream=0"},
		{name: "build-upstream-unmodified", args: "build --upstream --unmodified"},
		{name: "build-no-go", args: "build --opa NEWEST", setup: func(t *testing.T) { t.Setenv("PATH", empty) }},
		{name: "build-platform", args: "build --platform arm64"},
		{name: "build-platforms", args: "build --platform linux/amd64,linux/arm64"},
		{name: "build-image-alone", args: "build --image-name opa:1"},
		{name: "build-source-program", args: "build -C PROGRAM --write-source EMPTY/x"},
		{name: "build-image-output", args: "build --image EMPTY/x.tar -o opa --platform linux/amd64,linux/arm64"},
		{name: "build-image-windows", args: "build --image EMPTY/x.tar --platform windows/amd64"},
		{name: "build-platform-twice", args: "build --image EMPTY/x.tar --platform linux/arm/v7,linux/arm"},
		{name: "build-image-compressed", args: "build --image EMPTY/x.tar.gz"},
		{name: "build-image-folder", args: "build --image TREE"},
		{name: "build-image-name", args: "build --image EMPTY/x.tar --image-name Opa"},
		{name: "merge-none", args: "merge"},
		{name: "merge-unique", args: "merge --unique EMPTY/a.rgm"},
		{name: "merge-missing", args: "merge EMPTY/missing.rgm"},
		{name: "merge-not-saved", args: "merge TREE/main.go"},
		{name: "merge-save-folder", args: "merge --save EMPTY a.rgm"},
		{name: "demo-duration", args: "demo --duration 0s"},
		{name: "demo-duration-unit", args: "demo --duration 5"},
		{name: "demo-seed", args: "demo --seed -1"},
		{name: "demo-argument", args: "demo policy"},
		{name: "demo-keep", args: "demo --keep TREE"},
		{name: "report-nothing", args: "report"},
		{name: "report-exact-save", args: "report --exact --save EMPTY/a.rgm EMPTY"},
		{name: "report-missing", args: "report no-such.log"},
		{name: "report-by", args: "report --by colour EMPTY"},
		{name: "report-since", args: "report --since tomorrow EMPTY"},
		{name: "report-no-file", args: "report EMPTY"},
		{name: "report-no-log", args: "report TREE/go.mod"},
		{name: "report-strict", args: "report --strict TREE/go.mod"},
		{name: "report-refused", args: "report BIN/log.xz"},
		{name: "report-pattern", args: "report EMPTY/[a"},
		{name: "collect-pattern", args: "collect --follow EMPTY/[a"},
		{name: "report-fail-on", args: "report --fail-on errors_rose,slow TREE/go.mod"},
		{name: "compare-one", args: "compare EMPTY"},
		{name: "compare-threshold", args: "compare --fail-on p99>1 EMPTY EMPTY"},
		{name: "replay-no-policy", args: "replay EMPTY"},
		{name: "replay-threshold", args: "replay --fail-on denied>+5pp EMPTY"},
		{name: "replay-times", args: "replay --fail-on p99:rego_query_eval>+20% --policy TREE EMPTY"},
		{name: "replay-bad-policy", args: "replay --policy TREE TREE/go.mod"},
		{name: "sample-nowhere", args: "sample"},
		{name: "sample-size", args: "sample --size big -o -"},
		{name: "sample-bad", args: "sample --bad 2 -o -"},
		{name: "complete-format", args: "__complete compare --format t"},
		{name: "verify-no-such-package", args: "verify --opa TREE --packages v1/nothing"},
		{name: "verify-both", args: "verify --quick --packages v1/metrics"},
		{name: "verify-bad-pattern", args: "verify --run ("},
		{name: "verify-program-quick", args: "verify --quick ./..."},
		{name: "verify-program-no-opa", args: "verify -C PROGRAM"},
		{name: "version", args: "version"},
		{name: "version-drop-in", args: "version BIN/opa", setup: func(t *testing.T) { buildTiny(t, tree, bin, "--no-plugin") }},
		{name: "version-unmodified", args: "version BIN/opa", setup: func(t *testing.T) { buildTiny(t, tree, bin, "--unmodified") }},
		{name: "version-upstream", args: "version BIN/opa", setup: func(t *testing.T) { buildTiny(t, recorded, bin, "--unmodified") }},
		{name: "version-missing", args: "version BIN/missing"},
		{name: "version-folder", args: "version EMPTY"},
		{name: "version-not-go", args: "version TREE/main.go"},
		{name: "version-not-opa", args: "version GOTOOL"},
		{name: "version-two", args: "version a b"},
	}
	for _, cmd := range newRootCommand().Commands() {
		calls = append(calls, golden{name: "help-" + cmd.Name(), args: cmd.Name() + " --help"})
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			if c.setup != nil {
				c.setup(t)
			}
			placeholders := strings.NewReplacer("EMPTY", empty, "TREE", tree, "BIN", bin, "PROGRAM", program, "GOTOOL", tool, "NEWEST", opabuild.NewestVersion)
			var args []string
			for _, a := range strings.Fields(c.args) {
				args = append(args, placeholders.Replace(a))
			}
			status, stdout, stderr := call(t.Context(), args...)
			got := fmt.Sprintf("$ regometer %s\n-- status %d\n-- stdout\n%s-- stderr\n%s", c.args, status, stdout, stderr)
			got = strings.NewReplacer(empty, "EMPTY", tree, "TREE", bin, "BIN", program, "PROGRAM", tool, "GOTOOL", "regometer: "+ownVersion()+"\ngo: ", "regometer: VERSION\ngo: ",
				opabuild.OldestVersion, "OLDEST", opabuild.NewestRange, "RANGE", opabuild.NewestVersion, "NEWEST").Replace(got)
			got = regexp.MustCompile(`(?m)^go: go\S+ \w+/\w+$`).ReplaceAllString(got, "go: GO PLATFORM")
			got = regexp.MustCompile(`sha256:[0-9a-f]{64}\b`).ReplaceAllString(got, "sha256:HASH")
			got = regexp.MustCompile(`(?m)^\[ *\d+\.\ds\]`).ReplaceAllString(got, "[  0.0s]")
			file := filepath.Join("testdata", c.name+".txt")
			if *update {
				write(file, got)
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (go test -update writes it)", err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
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

// buildTiny builds the program of tinyOPA as bin/opa.
func buildTiny(t *testing.T, tree, bin, part string) {
	t.Helper()
	file := filepath.Join(bin, "opa")
	if stdout := succeed(t, "build", part, "--opa", tree, "-o", file); stdout != file+"\n" {
		t.Errorf("prints %q, want the path of the file", stdout)
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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/opaserver"
)

// A program of the user's own that runs the real OPA: it has the plugin, which
// gets the server's decisions by the hook.
func TestBuildRealProgram(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds a program with OPA for a minute: make test-slow")
	}
	// Shared with what others build of OPA, so that little is compiled.
	t.Setenv("CGO_ENABLED", "0")
	m, err := download(t.Context(), "OPA", opaModule, NewestVersion)
	if err != nil {
		t.Fatal(err)
	}
	// Its requirements are OPA's, and OPA. What is in a folder needs no
	// checksum.
	text := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(m.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	mod := strings.Replace(text("go.mod"), "module "+opaModule, "module example.com/real", 1)
	dir := writeTree(t, map[string]string{
		"go.mod": mod + "\nrequire " + opaModule + " " + NewestVersion + "\n\nreplace " + opaModule + " => " + m.Dir + "\n",
		"go.sum": text("go.sum"),
		"main.go": `package main

import (
	"os"

	"github.com/open-policy-agent/opa/cmd"
)

var version, metrics = "dev", 1

func main() {
	if err := cmd.RootCommand.Execute(); err != nil {
		os.Exit(1)
	}
}
`,
		"policy.rego": "package example\n\nallow := true\n",
		"config.yaml": "plugins:\n  regometer: {}\n",
	})
	before := readTree(t, dir)
	p, err := OpenProgram(t.Context(), Options{Dir: dir, Flags: []string{"-trimpath"}, Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	file, err := p.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkSameTree(t, dir, before)
	b := inspect(t, file)
	hash := DropInHash()
	if b.Program != "example.com/real" || "v"+b.OPA != NewestVersion || b.DropIn != hash || !b.Plugin || !b.Hook {
		t.Errorf("holds %+v", b)
	}
	server, err := opaserver.Start(t.Context(), opaserver.Options{
		Name: "the program", Dir: dir, Log: filepath.Join(t.TempDir(), "log"),
		Command: []string{file, "run", "--server", "--config-file", "config.yaml", "policy.rego"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := server.Get(t.Context(), "/v1/data/example/allow"); err != nil {
		t.Fatal(err)
	}
	metrics, err := server.Get(t.Context(), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^regometer_build_info\{.*dropin="` + hash[:12] + `".*\} 1$`,
		`(?m)^opa_decisions_total\{.*path="example/allow".*\} 1$`,
	} {
		if !regexp.MustCompile(want).Match(metrics) {
			t.Errorf("/metrics has no %s:\n%s", want, metrics)
		}
	}
}

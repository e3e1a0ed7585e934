// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench/project"
)

func TestChecksums(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a": "", "b": "abc"})
	got, err := checksums(dir, []string{"a", "b"})
	const want = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n" +
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
	if string(got) != want || err != nil {
		t.Errorf("checksums = %q, %v", got, err)
	}
}

// TestInspect: what is not built as a release is, is none: this test.
func TestInspect(t *testing.T) {
	for name, want := range map[string]string{"regometer": "is built for " + project.HostPlatform().String(), "opa": "is built for"} {
		p := program{Name: name, Version: "v0.1.0", Platform: project.Platform{OS: "plan9", Arch: "amd64"}, binary: os.Args[0]}
		if err := p.inspect(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, want)
		}
	}
}

// TestDescribe: who downloads a file is told whether anyone has run it.
func TestDescribe(t *testing.T) {
	linux, mac := project.Platform{OS: "linux", Arch: "amd64"}, project.Platform{OS: "darwin", Arch: "arm64"}
	d := distribution{version: "v0.1.0", commit: commit{hash: "abc"}}
	text, err := d.describe([]*program{
		{Name: "regometer", Version: "v0.1.0", Platform: linux, Run: true},
		{Name: "opa", Version: "v0.1.0", OPA: "v1.22.0", Platform: mac},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"commit abc.\n",
		"| regometer | linux/amd64 | yes | regometer_v0.1.0_linux_amd64.tar.gz | regometer_v0.1.0_linux_amd64.cdx.json |\n",
		"| opa v1.22.0 | darwin/arm64 | not run | opa_v0.1.0_darwin_arm64.tar.gz | opa_v0.1.0_darwin_arm64.cdx.json |\n\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestReadme(t *testing.T) {
	for name, p := range programs() {
		text, err := p.readme()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+name+" v0.1.0 for windows/arm64\n\n") || strings.Contains(string(text), "Agent (OPA) v1.22.0") != (name == "opa") {
			t.Errorf("%s:\n%s", name, text)
		}
		if p.Archive() != name+"_v0.1.0_windows_arm64.zip" {
			t.Errorf("the archive of %s is called %s", name, p.Archive())
		}
	}
}

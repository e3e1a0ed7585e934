// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
)

func TestArguments(t *testing.T) {
	t.Chdir("../../..")
	for args, want := range map[string]string{
		"":                    "name a command",
		"check v0.1.0":        "name a command",
		"dist":                "one version",
		"prepare v0.1.0 v0.2": "one version",
		"dist -platforms linux/amd64,plan9/amd64 v0.1.0": `invalid platform "plan9/amd64": use some of [linux/amd64 `,
		"dist -nothing v0.1.0":                           "-nothing",
		"dist -dirty banana":                             `invalid version "banana"`,
		"prepare v1.2":                                   `invalid version "v1.2"`,
		"prepare v1.2.3+meta":                            `invalid version "v1.2.3+meta"`,
	} {
		if err := release(t.Context(), strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("release %s: the error is %v, want %q", args, err, want)
		}
	}
}

func TestFindCommit(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	for _, c := range []struct {
		git   string // runs first
		dirty bool
		want  string
	}{
		{"version", true, "not a git repository"},
		{"init -q", true, "unknown revision"},
		{"-c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first", false, "commit "},
		{"init -q new", false, "?? new"},
		{"version", true, " with changes"},
	} {
		if _, err := measure.Run(t.Context(), io.Discard, dir, nil, "git", strings.Fields(c.git)...); err != nil {
			t.Fatal(err)
		}
		if got, err := findCommit(t.Context(), dir, c.dirty); !strings.Contains(got+fmt.Sprint(err), c.want) {
			t.Errorf("after git %s: got %q, %v", c.git, got, err)
		}
	}
}

// TestInspect: this test's binary is not built as a release must be.
func TestInspect(t *testing.T) {
	p := program{Name: "opa", Version: "v0.1.0", Platform: project.Host, binary: os.Args[0]}
	if err := p.inspect(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "opa is built for "+project.Host) {
		t.Errorf("the error is %v", err)
	}
}

// The bill of a binary is the same each time, and has its modules with their
// licences.
func TestBillOfMaterials(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds " + billMaker + ": make test-slow")
	}
	binary := filepath.Join(t.TempDir(), "tool")
	if out, err := measure.Run(t.Context(), io.Discard, "../..", nil, "go", "build", "-o", binary, "golang.org/x/perf/cmd/benchstat"); err != nil {
		t.Fatal(err, out)
	}
	first, err := billOfMaterials(t.Context(), binary, "v1.2.3", nil)
	again, errAgain := billOfMaterials(t.Context(), binary, "v1.2.3", nil)
	if err := errors.Join(err, errAgain); err != nil || !bytes.Equal(first, again) {
		t.Fatalf("two bills of one binary differ: %v", err)
	}
	var bill struct {
		BOMFormat  string
		Metadata   struct{ Component struct{ Version string } }
		Components []struct {
			Name     string
			Licenses []any
		}
	}
	if err := json.Unmarshal(first, &bill); err != nil || bill.BOMFormat != "CycloneDX" || bill.Metadata.Component.Version != "v1.2.3" || len(bill.Components) < 2 {
		t.Errorf("%v in the bill\n%s", err, first)
	}
	for _, c := range bill.Components {
		if c.Name != "std" && len(c.Licenses) == 0 {
			t.Errorf("%s has no licence", c.Name)
		}
	}
}

// TestReleaseFiles makes a release of two programs, twice the same.
func TestReleaseFiles(t *testing.T) {
	t.Chdir("../../..")
	binary := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(binary, []byte("program"), 0o644); err != nil {
		t.Fatal(err)
	}
	programs := []*program{
		{Name: "regometer", Version: "v0.1.0", Platform: "linux/amd64", binary: binary, notices: []byte("notices\n"), bill: []byte("bill A")},
		{Name: "opa", Version: "v0.1.0", OPA: "v1.22.0", Platform: "windows/arm64", binary: binary, notices: []byte("notices\n"), bill: []byte("bill B")},
	}
	files, err := releaseFiles(programs, "commit abc")
	again, errAgain := releaseFiles(programs, "commit abc")
	if err := errors.Join(err, errAgain); err != nil || !reflect.DeepEqual(files, again) {
		t.Fatalf("two releases differ: %v", err)
	}
	sums := ""
	for _, name := range []string{
		"opa_v0.1.0_windows_arm64.cdx.json", "opa_v0.1.0_windows_arm64.tar.gz",
		"regometer_v0.1.0_linux_amd64.cdx.json", "regometer_v0.1.0_linux_amd64.tar.gz",
	} {
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(files[name].Data), name)
	}
	if got := string(files["SHA256SUMS"].Data); got != sums {
		t.Errorf("the checksums are\n%s\nwant\n%s", got, sums)
	}
	if got := string(files["README.md"].Data); !strings.Contains(got, "# Regometer v0.1.0\n") || !strings.Contains(got, "from commit abc with go") {
		t.Errorf("the text is\n%s", got)
	}
	for archive, program := range map[string]string{"regometer_v0.1.0_linux_amd64": "regometer", "opa_v0.1.0_windows_arm64": "opa.exe"} {
		compressed, err := gzip.NewReader(bytes.NewReader(files[archive+".tar.gz"].Data))
		if err != nil {
			t.Fatal(err)
		}
		list := ""
		for r := tar.NewReader(compressed); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil || h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
				t.Fatalf("%s has an owner or a time: %v, %v", archive, h, err)
			}
			list += fmt.Sprintf("%s %v\n", h.Name, h.FileInfo().Mode())
		}
		for _, want := range []string{"LICENSE -rw-r--r--\n", "README.md -rw-r--r--\n", "THIRD-PARTY-NOTICES.txt -rw-r--r--\n", program + " -rwxr-xr-x\n"} {
			if !strings.Contains(list, want) {
				t.Errorf("%s lacks %s:\n%s", archive, want, list)
			}
		}
	}
}

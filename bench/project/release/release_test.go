// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// Each row runs git commands first, unless there are none.
func TestFindCommit(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	for _, c := range []struct {
		git, version string
		dirty        bool
		epoch, want  string
	}{
		{"", "v0.1.0", false, "", "not a git repository"},
		{"init -q; commit -q --allow-empty -m first; tag v0.1.0; tag -a -m annotated v0.2.0", "v0.0.9", false, "", " 2026-01-02"},
		{"", "v0.1.0", false, "", " 2026-01-02"},
		{"", "v0.2.0", false, "", " 2026-01-02"},
		{"commit -q --allow-empty -m second", "v0.1.0", false, "", "the tag v0.1.0 is not at this commit"},
		{"", "v0.2.0", false, "", "the tag v0.2.0 is not at this commit"},
		{"", "v0.3.0", false, "", " 2026-01-02"},
		{"init -q new", "v0.3.0", false, "", "?? new"},
		{"", "v0.1.0", true, "", " with changes 2026-01-02"},
		{"", "v0.3.0", true, "86400", " 1970-01-02"},
		{"", "v0.3.0", true, "today", "invalid SOURCE_DATE_EPOCH"},
	} {
		for args := range strings.SplitSeq(c.git, "; ") {
			args := append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c"}, strings.Fields(args)...)
			if _, err := measure.Run(t.Context(), io.Discard, dir, []string{"GIT_COMMITTER_DATE=2026-01-02T03:04:06Z"}, "git", args...); c.git != "" && err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
		found, err := findCommit(t.Context(), dir, c.version, c.dirty)
		got := found.name + found.time.Format(" 2006-01-02")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %q", c, got)
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

// TestReleaseFiles makes a release of two programs.
func TestReleaseFiles(t *testing.T) {
	t.Chdir("../../..")
	binary := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(binary, []byte("program"), 0o644); err != nil {
		t.Fatal(err)
	}
	programs := []*program{
		{Name: "regometer", Version: "v0.1.0", Platform: "linux/amd64", Run: true, binary: binary, notices: []byte("notices\n"), bill: []byte("bill A")},
		{Name: "opa", Version: "v0.1.0", OPA: "v1.22.0", Platform: "windows/arm64", binary: binary, notices: []byte("notices\n"), bill: []byte("bill B")},
	}
	from := commit{name: "commit abc", time: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)}
	files := map[string][]byte{}
	for range 2 {
		release, err := releaseFiles(programs, from)
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range release {
			if first, ok := files[name]; ok && !bytes.Equal(file.Data, first) {
				t.Errorf("%s differs the second time", name)
			}
			files[name] = file.Data
		}
	}
	sums := ""
	for _, name := range []string{
		"opa_v0.1.0_windows_arm64.cdx.json", "opa_v0.1.0_windows_arm64.zip",
		"regometer_v0.1.0_linux_amd64.cdx.json", "regometer_v0.1.0_linux_amd64.tar.gz",
	} {
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(files[name]), name)
	}
	linux := list(t, programs[0].Archive(), files[programs[0].Archive()])
	windows := list(t, programs[1].Archive(), files[programs[1].Archive()])
	for want, text := range map[string]string{
		sums: string(files["SHA256SUMS"]), "bill A": string(files[programs[0].SBOM()]),
		"from commit abc.\n": string(files["README.md"]),
		"| regometer | linux/amd64 | yes | regometer_v0.1.0_linux_amd64.tar.gz | regometer_v0.1.0_linux_amd64.cdx.json |\n": string(files["README.md"]),
		"| opa v1.22.0 | windows/arm64 | not run | opa_v0.1.0_windows_arm64.zip | opa_v0.1.0_windows_arm64.cdx.json |\n\n":  string(files["README.md"]),
		"regometer_v0.1.0_linux_amd64/regometer -rwxr-xr-x 2026-01-02 03:04:06 program\n":                                   linux,
		"regometer_v0.1.0_linux_amd64/README.md -rw-r--r-- 2026-01-02 03:04:06 # regometer v0.1.0 for linux/amd64\n":        linux,
		"regometer_v0.1.0_linux_amd64/THIRD-PARTY-NOTICES.txt -rw-r--r-- 2026-01-02 03:04:06 notices\n":                     linux,
		"opa_v0.1.0_windows_arm64/opa.exe -rwxr-xr-x 2026-01-02 03:04:06 program\n":                                         windows,
		"This is Open Policy Agent (OPA) v1.22.0":                                                                           windows,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// list returns the names, modes, times and texts of an archive's files.
func list(t *testing.T, name string, archive []byte) (list string) {
	t.Helper()
	add := func(name string, mode os.FileMode, at time.Time, content io.Reader) {
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		list += fmt.Sprintf("%s %v %s %s\n", name, mode, at.UTC().Format(time.DateTime), text)
	}
	if strings.HasSuffix(name, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.Mode(), f.Modified, in)
		}
		return list
	}
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(compressed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Fatalf("%s has an owner: %v", name, err)
		}
		add(h.Name, h.FileInfo().Mode(), h.ModTime, r)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
	"github.com/regometer/regometer/internal/app/contents"
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
	p := program{Program: contents.Program{Name: "opa", Version: "v0.1.0", Platform: project.Host}, binary: os.Args[0]}
	if err := p.inspect(); err == nil || !strings.Contains(err.Error(), "opa is built for "+project.Host) {
		t.Errorf("the error is %v", err)
	}
}

// TestReleaseFiles makes a release of two programs with modules of all kinds.
func TestReleaseFiles(t *testing.T) {
	t.Chdir("../../..")
	sources := t.TempDir()
	license, err := os.ReadFile("LICENSE")
	patents, missing := os.ReadFile(filepath.Join(moduleDir(t, "golang.org/x/mod"), "PATENTS"))
	if err != nil || missing != nil {
		t.Fatal(err, missing)
	}
	if err := os.CopyFS(sources, fstest.MapFS{
		"binary":                          {Data: []byte("program")},
		"a.b/fork/go.mod":                 {Data: []byte("require a.b/old v2.0.0+incompatible\nrequire a.b/local v0.0.0 // indirect\nrequire " + measure.OPAModule + " v1.0.0\n")},
		"example.com/command/go.mod":      {Data: []byte("require z.b/replaced v1.0.0\nrequire a.b/other v1.0.0\n")},
		"example.com/command/LICENSE":     {Data: license},
		"example.com/command/PATENTS":     {Data: patents},
		measure.OPAModule + "/go.mod":     {Data: []byte("require z.b/replaced v1.0.0\nrequire a.b/local v0.0.0\n")},
		"a.b/fork/LICENSE":                {Data: []byte("Licence A\r\nof two lines\r\n")},
		"a.b/fork/license.go":             {Data: []byte("package fork")},
		"a.b/fork/sub/COPYING":            {Data: []byte("Licence B")},
		"a.b/fork/testdata/LICENSE":       {Data: []byte("of test data")},
		"a.b/old/LICENCE.md":              {Data: []byte("\nLicence A\nof two lines")},
		measure.OPAModule + "/NOTICE.txt": {Data: []byte("Notice of OPA")},
		"std/LICENSE":                     {Data: []byte("Go's")},
		"std/src/vendor/LICENSE":          {Data: []byte("vendored")},
	}); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(sources, "binary")
	folders := map[string]string{}
	for _, module := range []string{"a.b/fork", "a.b/old", "example.com/command", measure.OPAModule, "std"} {
		folders[module] = filepath.Join(sources, module)
	}
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/command", Version: "v0.1.0"},
		Deps: []*debug.Module{
			{Path: "z.b/replaced", Version: "v1.0.0", Replace: &debug.Module{Path: "a.b/fork", Version: "v1.0.1", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}},
			{Path: "a.b/local", Version: "v0.0.0", Replace: &debug.Module{Path: "../local"}},
			{Path: "a.b/old", Version: "v2.0.0+incompatible", Sum: "h1:" + strings.Repeat("/", 42) + "8="},
		},
	}
	programs := []*program{
		{contents.Program{Name: "regometer", Version: "v0.1.0", Platform: "linux/amd64", Regometer: "v0.1.0", Info: info, Folders: folders}, true, binary},
		{contents.Program{
			Name: "opa", Version: "v0.1.0", OPA: "v1.22.0", Platform: "windows/arm64", Info: info, Folders: folders,
			Changes: "all of it", Regometer: "v0.1.0",
		}, false, binary},
	}
	from := commit{name: "commit abc", time: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)}
	files := map[string][]byte{}
	for range 2 {
		release, err := releaseFiles(t.Context(), nil, programs, from, io.Discard)
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
	if got := string(files["SHA256SUMS"]); got != sums {
		t.Errorf("SHA256SUMS is\n%s\nwant\n%s", got, sums)
	}
	for _, want := range []string{
		"from commit abc.\n",
		"| regometer | linux/amd64 | yes | regometer_v0.1.0_linux_amd64.tar.gz | regometer_v0.1.0_linux_amd64.cdx.json |\n",
		"| opa v1.22.0 | windows/arm64 | not run | opa_v0.1.0_windows_arm64.zip | opa_v0.1.0_windows_arm64.cdx.json |\n\n",
	} {
		if !strings.Contains(string(files["README.md"]), want) {
			t.Errorf("README.md lacks %q:\n%s", want, files["README.md"])
		}
	}
	line := strings.Repeat("=", 80)
	notices := "The licences of all parts of the program, each below the names of its files.\n" +
		"\n" + line + "\na.b/fork v1.0.1: LICENSE\na.b/old v2.0.0+incompatible: LICENCE.md\n" + line + "\n\nLicence A\nof two lines\n" +
		"\n" + line + "\na.b/fork v1.0.1: sub/COPYING\n" + line + "\n\nLicence B\n"
	linux := list(t, programs[0].Archive(), files[programs[0].Archive()])
	windows := list(t, programs[1].Archive(), files[programs[1].Archive()])
	for want, list := range map[string]string{
		"regometer_v0.1.0_linux_amd64/regometer -rwxr-xr-x 2026-01-02 03:04:06 program\n":                              linux,
		"regometer_v0.1.0_linux_amd64/README.md -rw-r--r-- 2026-01-02 03:04:06 # regometer v0.1.0 for linux/amd64\n":   linux,
		"/THIRD-PARTY-NOTICES.txt -rw-r--r-- 2026-01-02 03:04:06 " + notices + "\n" + line + "\nstd 1.26.8: LICENSE\n": linux,
		"opa_v0.1.0_windows_arm64/opa.exe -rwxr-xr-x 2026-01-02 03:04:06 program\n":                                    windows,
		"This is Open Policy Agent (OPA) v1.22.0":                                                                      windows,
		notices + "\n" + line + "\n" + measure.OPAModule + " v1.22.0: NOTICE.txt\n":                                    windows,
	} {
		if !strings.Contains(list, want) {
			t.Errorf("want %q in\n%s", want, list)
		}
	}
	const fork, local, old, std = "pkg:golang/a.b/fork@v1.0.1", "pkg:golang/a.b/local", "pkg:golang/a.b/old@v2.0.0%2Bincompatible", "pkg:golang/std@1.26.8"
	const opa = "pkg:golang/" + measure.OPAModule + "@v1.22.0"
	schema := billSchema(t)
	serials := map[string]bool{}
	for _, p := range programs {
		text := bytes.NewReader(files[p.SBOM()])
		if value, err := jsonschema.UnmarshalJSON(text); err != nil || schema.Validate(value) != nil {
			t.Errorf("%s: %v %v", p.SBOM(), err, schema.Validate(value))
		}
		var bill cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(files[p.SBOM()]), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
			t.Fatal(err)
		}
		serials[bill.SerialNumber] = true
		main := bill.Metadata.Component
		got := main.Supplier.Name + " " + (*bill.Metadata.Tools.Components)[0].Version
		for _, l := range *main.Licenses {
			got += " " + l.License.ID + l.License.Name
		}
		got += "\n"
		for _, c := range *bill.Components {
			got += c.Supplier.Name + " " + c.PackageURL
			if c.Hashes != nil {
				got += " " + (*c.Hashes)[0].Value
			}
			if c.Pedigree != nil {
				got += " from " + (*c.Pedigree.Ancestors)[0].Supplier.Name + " by " + c.Pedigree.Notes
			}
			got += "\n"
		}
		for _, d := range *bill.Dependencies {
			got += d.Ref + ":"
			if d.Dependencies != nil {
				got += fmt.Sprint(" ", *d.Dependencies)
			}
			got += "\n"
		}
		modules := "a.b " + fork + " 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n" +
			"a.b " + local + "\na.b " + old + " " + strings.Repeat("ff", 32) + "\n"
		tree := ": [" + old + "]\n" + local + ":\n" + old + ":\n"
		want := "example.com v0.1.0 Apache-2.0 GooglePatentsFile\n" + modules + "go.dev " + std + "\n" +
			main.BOMRef + ": [" + fork + " " + local + " " + std + "]\n" + fork + tree + std + ":\n"
		if p.OPA != "" {
			want = "github.com/regometer v0.1.0 Apache-2.0 GooglePatentsFile\n" + modules + "github.com/regometer " + opa + " from github.com/open-policy-agent by all of it\n" +
				"go.dev " + std + "\n" + main.BOMRef + ": [" + opa + " " + std + "]\n" + fork + strings.Replace(tree, "]", " "+opa+"]", 1) + opa + ": [" + fork + " " + local + "]\n" + std + ":\n"
		}
		if got != want {
			t.Errorf("%s has\n%s\nwant\n%s", p.SBOM(), got, want)
		}
	}
	if len(serials) != len(programs) {
		t.Errorf("the serial numbers are %v", serials)
	}
	if err := os.RemoveAll(filepath.Join(sources, "a.b/fork/LICENSE")); err != nil {
		t.Fatal(err)
	}
	if _, err := releaseFiles(t.Context(), nil, programs, from, io.Discard); err == nil || !strings.Contains(err.Error(), "no licence: there is no file such as LICENSE in a.b/fork v1.0.1") {
		t.Errorf("without a licence the error is %v", err)
	}
}

// moduleDir returns the folder of a module that this one requires.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	dir, err := measure.Command(t.Context(), "bench", "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// billSchema returns CycloneDX's schema, which is in the module of its library.
func billSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseLoader(schemas(moduleDir(t, "github.com/CycloneDX/cyclonedx-go")))
	return c.MustCompile("http://cyclonedx.org/schema/bom-1.6.schema.json")
}

// schemas loads schemas from a folder of CycloneDX's library. One has another
// name there.
type schemas string

func (dir schemas) Load(url string) (any, error) {
	text, err := os.ReadFile(filepath.Join(string(dir), "schema", strings.Replace(path.Base(url), "jsf-0.82.schema", "jsf-0.82.schemax", 1)))
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
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

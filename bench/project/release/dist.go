// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"text/template"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
)

// A commit is the source of a release.
type commit struct {
	name string    // such as "commit 0123 with changes"
	time time.Time // the time of the files in the archives
}

// findCommit returns the commit of the checkout at root. Unless dirty, it fails
// if the checkout has changes or if the version is the tag of another commit.
func findCommit(ctx context.Context, root, version string, dirty bool) (commit, error) {
	var failed error
	git := func(args ...string) string {
		out, err := measure.Run(ctx, io.Discard, root, nil, "git", args...)
		failed = errors.Join(failed, err)
		return strings.TrimSpace(out)
	}
	hash, seconds, _ := strings.Cut(git("log", "-1", "--format=%H %ct"), " ")
	changes := git("status", "--porcelain")
	elsewhere := git("tag", "--list", version) != "" && !slices.Contains(strings.Fields(git("tag", "--points-at", "HEAD")), version)
	switch {
	case failed != nil:
		return commit{}, failed
	case changes != "" && !dirty:
		return commit{}, fmt.Errorf("the checkout has changes: commit them, or try with -dirty (make dist DISTFLAGS=-dirty)\n%s", changes)
	case elsewhere && !dirty:
		return commit{}, fmt.Errorf("the tag %s is not at this commit, %s: git checkout %[1]s, or choose another version", version, hash)
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("invalid SOURCE_DATE_EPOCH: %w", err)
	}
	name := "commit " + hash
	if changes != "" {
		name += " with changes"
	}
	return commit{name, time.Unix(unix, 0).UTC()}, nil
}

// A program is one binary of a release.
type program struct {
	Name, Version, Platform string
	OPA                     string // the version of OPA, such as v1.2.3, if the program is OPA
	Run                     bool   // it ran on this machine

	binary        string // file
	notices, bill []byte // the licences and the bill of materials
}

// base returns the name of the program's files, without their endings.
func (p *program) base() string {
	return p.Name + "_" + p.Version + "_" + strings.ReplaceAll(p.Platform, "/", "_")
}

// Archive returns the name of the program's archive.
func (p *program) Archive() string {
	if strings.HasPrefix(p.Platform, "windows/") {
		return p.base() + ".zip"
	}
	return p.base() + ".tar.gz"
}

// SBOM returns the name of the program's bill of materials.
func (p *program) SBOM() string { return p.base() + ".cdx.json" }

// dist builds the programs for the platforms, and writes the folder
// dist/VERSION.
func dist(ctx context.Context, r *project.Release, from commit, platforms []string, progress io.Writer) (err error) {
	fmt.Fprintf(progress, "%s of %s\n", r.Version, from.name)
	regometer, err := r.Install(project.Host) // it builds OPA for all platforms
	if err != nil {
		return err
	}
	var programs []*program
	for _, platform := range platforms {
		cross, err := r.Install(platform)
		if err != nil {
			return err
		}
		opa, err := r.BuildOPA(regometer, platform)
		if err != nil {
			return err
		}
		if platform == project.Host {
			if err := r.Check(cross, opa); err != nil {
				return err
			}
		}
		for _, p := range []*program{{Name: "regometer", binary: cross}, {Name: "opa", binary: opa}} {
			p.Version, p.Platform, p.Run = r.Version, platform, platform == project.Host
			fmt.Fprintf(progress, "reading the licences of %s for %s\n", p.Name, platform)
			if err := p.inspect(ctx, regometer, r.Env); err != nil {
				return err
			}
			programs = append(programs, p)
		}
	}
	files, err := releaseFiles(programs, from)
	if err != nil {
		return err
	}
	target := filepath.Join("dist", r.Version)
	return errors.Join(os.RemoveAll(target), os.CopyFS(target, files))
}

// opaParts matches what regometer prints for an opa of a release: the version
// of regometer and that of OPA.
var opaParts = regexp.MustCompile(`^regometer: (\S+)\n(?:.*\n)*opa: (\d[\d.]*)\n(?:.*\n)*plugin: gets decisions straight from OPA's server\n`)

// inspect reads the binary and, by the command regometer, its parts and the
// licences of its modules. It returns an error unless the binary is built as a
// release must be, and each module has a licence. env makes the go command see
// the release.
func (p *program) inspect(ctx context.Context, regometer string, env []string) error {
	info, err := buildinfo.ReadFile(p.binary)
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	got := fmt.Sprintf("%s/%s, CGO_ENABLED=%s, -trimpath=%s", settings["GOOS"], settings["GOARCH"], settings["CGO_ENABLED"], settings["-trimpath"])
	if want := p.Platform + ", CGO_ENABLED=0, -trimpath=true"; got != want {
		return fmt.Errorf("%s is built for %s, want %s", p.Name, got, want)
	}
	if p.Name == "regometer" && info.Main.Version != p.Version {
		return fmt.Errorf("%s for %s has the version %s", p.Name, p.Platform, info.Main.Version)
	}
	run := func(args ...string) string {
		out, failed := measure.Run(ctx, io.Discard, filepath.Dir(p.binary), env, regometer, append([]string{"version", p.binary}, args...)...)
		err = errors.Join(err, failed)
		return out
	}
	parts := run()
	if err != nil {
		return fmt.Errorf("%s: %w", p.base(), err)
	}
	if p.Name == "opa" {
		m := opaParts.FindStringSubmatch(parts)
		if m == nil || m[1] != p.Version {
			return fmt.Errorf("opa for %s lacks a part of regometer %s:\n%s", p.Platform, p.Version, parts)
		}
		p.OPA = "v" + m[2]
	}
	if p.notices = []byte(run("--licences")); err != nil {
		return fmt.Errorf("%s: %w", p.base(), err)
	}
	p.bill, err = billOfMaterials(ctx, p.binary, cmp.Or(p.OPA, p.Version), env)
	return err
}

// releaseFiles returns all files of a release.
func releaseFiles(programs []*program, from commit) (fstest.MapFS, error) {
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	release := fstest.MapFS{}
	add := func(name string, content []byte) { release[name] = &fstest.MapFile{Data: content, Mode: 0o644} }
	for _, p := range programs {
		binary, err := os.ReadFile(p.binary)
		if err != nil {
			return nil, err
		}
		base := p.base()
		files := fstest.MapFS{
			base: {Mode: fs.ModeDir | 0o755},
			base + "/" + project.Executable(p.Name, p.Platform): {Mode: 0o755, Data: binary},
			base + "/LICENSE":                 {Mode: 0o644, Data: license},
			base + "/README.md":               {Mode: 0o644, Data: execute(archiveReadme, p)},
			base + "/THIRD-PARTY-NOTICES.txt": {Mode: 0o644, Data: p.notices},
		}
		for _, file := range files {
			file.ModTime = from.time
		}
		archive, err := pack(p.Archive(), files)
		if err != nil {
			return nil, err
		}
		add(p.Archive(), archive)
		add(p.SBOM(), p.bill)
	}
	var sums []byte // as sha256sum prints them
	for _, name := range slices.Sorted(maps.Keys(release)) {
		sums = fmt.Appendf(sums, "%x  %s\n", sha256.Sum256(release[name].Data), name)
	}
	add("SHA256SUMS", sums)
	add("README.md", execute(releaseNotes, map[string]any{
		"Version": programs[0].Version, "Commit": from.name, "Go": runtime.Version(), "Host": project.Host, "Programs": programs,
	}))
	return release, nil
}

// billMaker is the tool that makes bills of materials.
const billMaker = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

// billOfMaterials returns the modules in a binary of this version in
// CycloneDX's JSON. The same binary has the same bill.
func billOfMaterials(ctx context.Context, binary, version string, env []string) ([]byte, error) {
	args := strings.Fields("run " + billMaker + " bin -json -std -licenses -assert-licenses -noserial -notimestamp -version " + version)
	bill, err := measure.Run(ctx, io.Discard, filepath.Dir(binary), env, "go", append(args, binary)...)
	return []byte(bill), err
}

// pack returns files as a zip archive if name ends in .zip, and otherwise as a
// compressed tar archive. The archive has no owners, so the same files make the
// same archive.
func pack(name string, files fs.FS) ([]byte, error) {
	var out bytes.Buffer
	if filepath.Ext(name) == ".zip" {
		archive := zip.NewWriter(&out)
		err := errors.Join(archive.AddFS(files), archive.Close())
		return out.Bytes(), err
	}
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	err := errors.Join(archive.AddFS(files), archive.Close(), compressed.Close())
	return out.Bytes(), err
}

// execute returns a template's text. It panics if data lacks a field.
func execute(t *template.Template, data any) []byte {
	var text bytes.Buffer
	if err := t.Execute(&text, data); err != nil {
		panic(err)
	}
	return text.Bytes()
}

// archiveReadme says nothing about the machine that makes the archive.
var archiveReadme = template.Must(template.New("").Parse(`# {{.Name}} {{.Version}} for {{.Platform}}

{{if .OPA -}}
This is Open Policy Agent (OPA) {{.OPA}} with two changes, made by ` + "`regometer build`" + `: its package v1/metrics is
Regometer's, and it has Regometer's plugin, which does nothing until OPA's configuration names it:

    plugins: {regometer: {}}

From then on /metrics shows the durations of each stage and the outcomes of all decisions by path. OPA's maintainers did not
release this program, so report problems to Regometer first.
{{- else -}}
See where OPA's time goes. ` + "`regometer report FILE`" + ` reads the decision logs of any Open Policy Agent (OPA) and shows where
the time went. ` + "`regometer build`" + ` builds OPA with faster metrics and with histograms for Prometheus. It needs Go and a module
proxy. ` + "`regometer --help`" + ` describes the rest.
{{- end}}

Documentation: https://github.com/regometer/regometer/tree/{{.Version}}

LICENSE is Regometer's licence. THIRD-PARTY-NOTICES.txt has the licences of all modules in the program{{if .OPA}}, also OPA's{{end}}.
`))

var releaseNotes = template.Must(template.New("").Parse(`# Regometer {{.Version}}

Made with {{.Go}} on {{.Host}}, from {{.Commit}}.

Programs that were not run were only built, and their build information was checked. Nobody tried them on their platform.

| program | platform | run | archive | bill of materials |
|---|---|---|---|---|
{{range .Programs -}}
| {{.Name}}{{with .OPA}} {{.}}{{end}} | {{.Platform}} | {{if .Run}}yes{{else}}not run{{end}} | {{.Archive}} | {{.SBOM}} |
{{end}}
` + "`sha256sum -c SHA256SUMS`" + ` checks the files. CHANGELOG.md lists the changes.
`))

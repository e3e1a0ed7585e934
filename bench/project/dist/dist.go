// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/template"

	"github.com/regometer/regometer/bench/project"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// A distribution is what is made of one version.
type distribution struct {
	root      string // the repository
	version   string
	platforms []project.Platform
	dirty     bool // whatever the checkout is like
	progress  io.Writer

	commit  commit
	files   []string // names of what is in the folder
	license []byte   // ours
}

// A program is one binary of a release.
type program struct {
	Name     string // regometer or opa
	Version  string // of the release
	OPA      string // its version, in the program opa, such as v1.2.3
	Platform project.Platform
	Run      bool // on this machine

	binary string // file
	info   *buildinfo.BuildInfo
}

// base returns the name of the program's files, without what they end in.
func (p *program) base() string {
	return fmt.Sprintf("%s_%s_%s_%s", p.Name, p.Version, p.Platform.OS, p.Platform.Arch)
}

// Archive returns the name of the program's archive.
func (p *program) Archive() string {
	if p.Platform.OS == "windows" {
		return p.base() + ".zip"
	}
	return p.base() + ".tar.gz"
}

// SBOM returns the name of the program's bill of materials.
func (p *program) SBOM() string { return p.base() + ".cdx.json" }

// make writes the folder dist/VERSION.
func (d *distribution) make(ctx context.Context) (err error) {
	if d.commit, err = findCommit(ctx, d.root, d.version, d.dirty); err != nil {
		return err
	}
	if d.license, err = os.ReadFile(filepath.Join(d.root, "LICENSE")); err != nil {
		return err
	}
	fmt.Fprintf(d.progress, "%s of %s\n", d.version, d.commit)
	release, err := project.NewRelease(ctx, d.root, d.version, d.progress)
	if err != nil {
		return err
	}
	defer func() {
		if failed := release.Close(); err == nil {
			err = failed
		}
	}()
	parent := filepath.Join(d.root, "dist")
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(parent, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := d.fill(ctx, dir, release); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	target := filepath.Join(parent, d.version)
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	if err := os.Rename(dir, target); err != nil {
		return err
	}
	fmt.Fprintf(d.progress, "%d files in %s\n", len(d.files), target)
	return nil
}

// fill builds all programs and writes their files to the folder dir.
func (d *distribution) fill(ctx context.Context, dir string, release *project.Release) error {
	host := project.HostPlatform()
	// It builds OPA for all platforms.
	regometer, err := release.Install(ctx, host, d.progress)
	if err != nil {
		return err
	}
	var programs []*program
	for _, platform := range d.platforms {
		cross := regometer
		if platform != host {
			if cross, err = release.Install(ctx, platform, d.progress); err != nil {
				return err
			}
		}
		opa, err := release.BuildOPA(ctx, regometer, opabuild.UpstreamVersion, platform, d.progress)
		if err != nil {
			return err
		}
		if platform == host {
			fmt.Fprintf(d.progress, "running what is for %s\n", host)
			if err := release.CheckRun(ctx, regometer, opa); err != nil {
				return err
			}
		}
		for _, p := range []*program{{Name: "regometer", binary: cross}, {Name: "opa", binary: opa}} {
			p.Version, p.Platform, p.Run = d.version, platform, platform == host
			if err := p.inspect(); err != nil {
				return err
			}
			fmt.Fprintf(d.progress, "packing %s\n", p.Archive())
			if err := d.pack(ctx, dir, p, release); err != nil {
				return err
			}
			programs = append(programs, p)
		}
	}
	sums, err := checksums(dir, d.files)
	if err != nil {
		return err
	}
	table, err := d.describe(programs)
	if err != nil {
		return err
	}
	return d.write(dir, map[string][]byte{"SHA256SUMS": sums, "README.md": table})
}

// inspect reads from the binary what it is made of. It returns an error unless
// that is what is to be released.
func (p *program) inspect() (err error) {
	if p.info, err = buildinfo.ReadFile(p.binary); err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range p.info.Settings {
		settings[s.Key] = s.Value
	}
	if got := settings["GOOS"] + "/" + settings["GOARCH"]; got != p.Platform.String() || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		return fmt.Errorf("%s for %s is built for %s, CGO_ENABLED=%s, -trimpath=%s", p.Name, p.Platform, got, settings["CGO_ENABLED"], settings["-trimpath"])
	}
	if p.Name == "regometer" {
		if p.info.Main.Version != p.Version {
			return fmt.Errorf("regometer for %s is of version %s", p.Platform, p.info.Main.Version)
		}
		return nil
	}
	b, err := opabuild.Inspect(p.binary)
	if err != nil {
		return err
	}
	if b.Regometer != p.Version || !b.Plugin || !b.Hook {
		return fmt.Errorf("opa for %s is built by regometer %q, with plugin: %t, with its hook: %t", p.Platform, b.Regometer, b.Plugin, b.Hook)
	}
	p.OPA = "v" + b.OPA
	return nil
}

// pack writes the program's archive and its bill of materials.
func (d *distribution) pack(ctx context.Context, dir string, p *program, release *project.Release) error {
	modules := p.modules()
	notices, err := thirdPartyNotices(modules, func(m component) (string, error) {
		if m.path == standardLibrary {
			return runtimeRoot(ctx)
		}
		return release.ModuleDir(ctx, m.path, m.version)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", p.base(), err)
	}
	binary, err := os.ReadFile(p.binary)
	if err != nil {
		return err
	}
	readme, err := p.readme()
	if err != nil {
		return err
	}
	archive, err := pack(p.Archive(), p.base(), d.commit.time, []entry{
		{p.Platform.Executable(p.Name), binary, true},
		{"LICENSE", d.license, false},
		{"README.md", readme, false},
		{"THIRD-PARTY-NOTICES.txt", notices, false},
	})
	if err != nil {
		return err
	}
	sbom, err := p.billOfMaterials(modules)
	if err != nil {
		return err
	}
	return d.write(dir, map[string][]byte{p.Archive(): archive, p.SBOM(): sbom})
}

// write writes files to the folder dir.
func (d *distribution) write(dir string, files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
		d.files = append(d.files, name)
	}
	slices.Sort(d.files)
	return nil
}

// checksums returns what sha256sum prints of files in the folder dir.
func checksums(dir string, names []string) ([]byte, error) {
	var sums bytes.Buffer
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
	}
	return sums.Bytes(), nil
}

var archiveReadme = template.Must(template.New("").Parse(`# {{.Name}} {{.Version}} for {{.Platform}}

{{if .OPA -}}
This is Open Policy Agent (OPA) {{.OPA}} with two changes, made by ` + "`regometer build`" + `: its package v1/metrics is
Regometer's, and it has Regometer's plugin, which does nothing until OPA's configuration names it:

    plugins: {regometer: {}}

From then on /metrics has the durations of each stage and the outcomes of all decisions by path. It is no release of
OPA's maintainers: report what is wrong with it to Regometer first.
{{- else -}}
Regometer reads the decision logs of any Open Policy Agent (OPA) and says where the time went: ` + "`regometer report FILE`" + `.
It builds OPA with faster metrics and histograms for Prometheus: ` + "`regometer build`" + `, for which it needs Go and a module
proxy. ` + "`regometer --help`" + ` has the rest.
{{- end}}

Documentation: https://github.com/regometer/regometer/tree/{{.Version}}

LICENSE is Regometer's, THIRD-PARTY-NOTICES.txt has those of all modules in the program{{if .OPA}}, OPA's too{{end}}.
`))

// readme returns the text for the archive. It says nothing of the machine that
// it was made on.
func (p *program) readme() ([]byte, error) {
	var text bytes.Buffer
	err := archiveReadme.Execute(&text, p)
	return text.Bytes(), err
}

var releaseNotes = template.Must(template.New("").Parse(`# Regometer {{.Version}}

Made by {{.Go}} on {{.Host}}, of {{.Commit}}.

What is not run was built and its build information checked, but it was not tried on its platform.

| program | platform | run | archive | bill of materials |
|---|---|---|---|---|
{{range .Programs -}}
| {{.Name}}{{with .OPA}} {{.}}{{end}} | {{.Platform}} | {{if .Run}}yes{{else}}not run{{end}} | {{.Archive}} | {{.SBOM}} |
{{end}}
` + "`sha256sum -c SHA256SUMS`" + ` checks the files. What is new is in CHANGELOG.md.
`))

// describe returns the table of what there is.
func (d *distribution) describe(programs []*program) ([]byte, error) {
	var text bytes.Buffer
	err := releaseNotes.Execute(&text, map[string]any{
		"Version": d.version, "Commit": d.commit, "Go": runtime.Version(), "Host": project.HostPlatform(), "Programs": programs,
	})
	return text.Bytes(), err
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
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
	"strings"
	"testing/fstest"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/bench/project"
)

// findCommit names the commit of the checkout at root. Unless dirty, it fails if
// the checkout has changes.
func findCommit(ctx context.Context, root string, dirty bool) (string, error) {
	hash, failed := measure.Run(ctx, io.Discard, root, nil, "git", "rev-parse", "HEAD")
	changes, err := measure.Run(ctx, io.Discard, root, nil, "git", "status", "--porcelain")
	name := "commit " + strings.TrimSpace(hash)
	if changes != "" {
		name += " with changes"
		if !dirty {
			err = fmt.Errorf("the checkout has changes: commit them, or try with -dirty (make dist DISTFLAGS=-dirty)\n%s", changes)
		}
	}
	return name, errors.Join(failed, err)
}

// A program is one binary of a release.
type program struct {
	Name, Version, Platform string
	OPA                     string // the version of OPA, such as v1.2.3, if the program is OPA

	binary        string // file
	notices, bill []byte // the licences and the bill of materials
}

// base returns the name of the program's files, without their endings.
func (p *program) base() string {
	return p.Name + "_" + p.Version + "_" + strings.ReplaceAll(p.Platform, "/", "_")
}

// dist builds the programs for the platforms, and writes the folder
// dist/VERSION.
func dist(ctx context.Context, r *project.Release, commit string, platforms []string, progress io.Writer) (err error) {
	fmt.Fprintf(progress, "%s of %s\n", r.Version, commit)
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
			p.Version, p.Platform = r.Version, platform
			fmt.Fprintf(progress, "reading the licences of %s for %s\n", p.Name, platform)
			if err := p.inspect(ctx, regometer, r.Env); err != nil {
				return err
			}
			programs = append(programs, p)
		}
	}
	files, err := releaseFiles(programs, commit)
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
func releaseFiles(programs []*program, commit string) (fstest.MapFS, error) {
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	release, sums := fstest.MapFS{}, []byte{}
	for _, p := range programs {
		binary, err := os.ReadFile(p.binary)
		if err != nil {
			return nil, err
		}
		archive, err := pack(fstest.MapFS{
			project.Executable(p.Name, p.Platform): {Mode: 0o755, Data: binary},
			"LICENSE":                              {Mode: 0o644, Data: license},
			"README.md":                            {Mode: 0o644, Data: fmt.Appendf(nil, about, p.Version)},
			"THIRD-PARTY-NOTICES.txt":              {Mode: 0o644, Data: p.notices},
		})
		if err != nil {
			return nil, err
		}
		release[p.base()+".tar.gz"] = &fstest.MapFile{Mode: 0o644, Data: archive}
		release[p.base()+".cdx.json"] = &fstest.MapFile{Mode: 0o644, Data: p.bill}
	}
	for _, name := range slices.Sorted(maps.Keys(release)) { // as sha256sum prints them
		sums = fmt.Appendf(sums, "%x  %s\n", sha256.Sum256(release[name].Data), name)
	}
	release["SHA256SUMS"] = &fstest.MapFile{Mode: 0o644, Data: sums}
	release["README.md"] = &fstest.MapFile{Mode: 0o644, Data: fmt.Appendf(nil, about+made, programs[0].Version, commit, runtime.Version(), project.Host)}
	return release, nil
}

// about is the text of all archives, and begins that of the release.
const about = `# Regometer %[1]s

` + "`regometer report FILE`" + ` reads the decision logs of any Open Policy Agent (OPA) and shows where the time went.
` + "`regometer --help`" + ` describes the rest.

` + "`opa`" + ` is OPA as ` + "`regometer build`" + ` makes it: with Regometer's package of metrics, fixes, and Regometer's plugin, which does
nothing until OPA's configuration names it. ` + "`opa version`" + ` prints OPA's version. OPA's maintainers did not release this
program, so report problems to Regometer first.

Documentation: https://github.com/regometer/regometer/tree/%[1]s

LICENSE is Regometer's licence. THIRD-PARTY-NOTICES.txt has the licences of all modules in the program, also OPA's.
`

const made = `
Made from %[2]s with %[3]s on %[4]s. Only the programs for this platform were run. The build
information of the others was checked. ` + "`sha256sum -c SHA256SUMS`" + ` checks the files. CHANGELOG.md lists the changes.
`

// billMaker is the tool that makes bills of materials.
const billMaker = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

// billOfMaterials returns the modules in a binary of this version in
// CycloneDX's JSON. The same binary has the same bill.
func billOfMaterials(ctx context.Context, binary, version string, env []string) ([]byte, error) {
	args := strings.Fields("run " + billMaker + " bin -json -std -licenses -assert-licenses -noserial -notimestamp -version " + version)
	bill, err := measure.Run(ctx, io.Discard, filepath.Dir(binary), env, "go", append(args, binary)...)
	return []byte(bill), err
}

// pack returns files as a compressed tar archive without owners and times, so
// the same files make the same archive.
func pack(files fs.FS) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	err := errors.Join(archive.AddFS(files), archive.Close(), compressed.Close())
	return out.Bytes(), err
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Options select the OPA or the program to build, and its parts. The zero value
// is [NewestVersion] with the drop-in, the fixes and the plugin.
type Options struct {
	// OPA is a version, such as "1.2.3" or "v1.2.3", anything else that
	// the Go module proxy resolves ("latest", a commit), or a folder with
	// OPA's source, which is only read. "" is NewestVersion.
	OPA string
	// Unmodified builds OPA as it is, for comparisons.
	Unmodified bool
	// NoPlugin leaves the plugin and the decision hook out.
	NoPlugin bool
	// Pure leaves out everything except the drop-in.
	Pure bool
	// Upstream builds an OPA with this number of steps of the Series, or with
	// AllSteps, instead of the drop-in and the plugin.
	Upstream int
	// Local builds OPA for this machine only, with the settings with which Go
	// built this program. So the two share most compiled packages, and the
	// first build is faster. The binary depends on this machine.
	Local bool
	// NoWasm builds OPA without the tag opa_wasm, and so without WebAssembly.
	NoWasm bool
	// Progress receives a line now and then, and warnings. nil is silent.
	Progress io.Writer

	// The rest is for [OpenProgram] only. Dir is a folder in the program's
	// module or workspace, in which the go command runs. "" is the current
	// folder.
	Dir string
	// Package is the main package, a folder such as "./cmd/x" or an import
	// path. "" is ".".
	Package string
	// Flags are passed on to go build.
	Flags []string

	with *parts // tests use these parts instead of those that the options name
}

// parts are the parts that a build puts into OPA. They are the drop-in, with or
// without the plugin and steps that are fixes, or steps of the series alone, or
// nothing.
type parts struct {
	dropIn dropIn
	steps  []Step
	plugin *plugin
}

func (o Options) parts() (p parts, err error) {
	switch {
	case o.with != nil:
		return *o.with, nil
	case o.Upstream != 0:
		p.steps, err = firstSteps(o.Upstream)
	case !o.Unmodified:
		p.dropIn = loadDropIn().withoutTests()
		if o.Pure {
			return p, nil
		}
		if p.steps, err = fixes(); err == nil && !o.NoPlugin {
			p.plugin, err = findPlugin()
		}
	}
	return p, err
}

// AllSteps stands for the number of steps in the series.
const AllSteps = -1

// firstSteps returns the first n steps of the series.
func firstSteps(n int) ([]Step, error) {
	steps, err := Series()
	if err != nil {
		return nil, err
	}
	if n == AllSteps {
		return steps, nil
	}
	if n < 1 || n > len(steps) {
		return nil, fmt.Errorf("there is no step %d: the series for OPA has %d steps", n, len(steps))
	}
	return steps[:n], nil
}

func (p parts) none() bool { return p.dropIn == nil && len(p.steps) == 0 }

// upstream returns the number of steps of the series, 0 beside a drop-in.
func (p parts) upstream() int {
	if p.dropIn != nil {
		return 0
	}
	return len(p.steps)
}

// content identifies the parts and everything that comes with them.
func (p parts) content() string {
	if p.none() {
		return ""
	}
	values := []any{regometerVersion(), p.dropIn.hash(), pluginPlace}
	for _, s := range p.steps {
		values = append(values, s.content)
	}
	if p.plugin != nil {
		values = append(values, p.plugin.content)
	}
	for _, name := range []string{buildFile, pluginFile} {
		text, _ := ownFiles.ReadFile("_opa/" + name + ".tmpl") // exists: see templates
		values = append(values, text)
	}
	return hashAll(values...)
}

// change returns the files that put the drop-in and the steps into the OPA
// source tree in dir.
func (p parts) change(dir string) (replacement, error) {
	change, err := changeBySteps(dir, p.steps)
	if p.dropIn == nil || err != nil {
		return change, err
	}
	now, err := goFiles(filepath.Join(dir, metricsDir))
	maps.Copy(change, p.dropIn.replace(now).in(metricsDir))
	return change, err
}

// fixNames are the steps of the series that a build with the drop-in takes,
// without new tests: the steps that change OPA outside of v1/metrics.
var fixNames = []string{"split-chunks", "plain-values", "defined-decisions", "no-op-server", "no-op-default", "decode-once", "log-lines", "encode-events", hookFix}

// inPlaceOf has the fixes that are not part of the series, but for the releases
// that a fix of the series does not fit.
var inPlaceOf = map[string]string{oldHookFix: hookFix, "kept-events": "split-chunks"}

// fixes returns the steps with the names of fixNames, and those of inPlaceOf.
func fixes() ([]Step, error) {
	steps, err := Series()
	if err != nil {
		return nil, err
	}
	own, err := fs.Sub(ownFiles, "_opa")
	if err != nil {
		return nil, err
	}
	ours, err := loadSteps(own)
	steps = slices.DeleteFunc(steps, func(s Step) bool {
		maps.DeleteFunc(s.files, func(name string, c *fileChange) bool { return isTest(name) && c.edits == nil })
		for name, c := range s.files {
			if isTest(name) { // OPA's tests, as far as they must change
				s.files[name] = &fileChange{edits: c.edits}
			}
		}
		return !slices.Contains(fixNames, s.Name)
	})
	return append(steps, ours...), err
}

// fixed names the fixes, for the record.
func (p *parts) fixed() string {
	var names []string
	for _, s := range p.steps {
		if p.dropIn != nil {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

// has reports whether a fix is among the steps.
func (p *parts) has(fix string) bool {
	return slices.ContainsFunc(p.steps, func(s Step) bool { return s.Name == fix })
}

// leaveOut removes steps by their names.
func (p *parts) leaveOut(names ...string) {
	p.steps = slices.DeleteFunc(slices.Clone(p.steps), func(s Step) bool { return slices.Contains(names, s.Name) })
}

// fit leaves out the fixes that do not fit the OPA source tree in dir, as those
// that it already has. A fix is put in whole or not at all. hook says whether
// the plugin gets decisions from OPA's server.
func (p *parts) fit(dir, version string, hook bool, progress progress) error {
	if p.dropIn == nil {
		return nil // the series is put in whole
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	all, changed := p.steps, replacement{}
	p.steps = nil
	for _, s := range all {
		s.files = maps.Clone(s.files)
		maps.DeleteFunc(s.files, func(name string, _ *fileChange) bool { return isTest(name) && !exists(root.FS(), name) })
		next := maps.Clone(changed)
		differs, misfits := errors.AsType[*misfit](s.apply(root.FS(), next))
		isHook := s.Name == hookFix || s.Name == oldHookFix
		switch {
		case isHook && !hook, misfits && (isHook || inPlaceOf[s.Name] != ""), p.has(inPlaceOf[s.Name]):
		case misfits:
			progress.printf("leaves out the fix %s: OPA %s has it already, or differs in %s", s.Name, version, differs.path)
		default:
			p.steps, changed = append(p.steps, s), next
		}
	}
	return nil
}

func exists(tree fs.FS, name string) bool {
	_, err := fs.Stat(tree, name)
	return err == nil
}

// changedTests returns OPA's files of tests that the fixes change.
func (p *parts) changedTests() (names []string) {
	for _, s := range p.steps {
		if p.dropIn != nil {
			for _, name := range s.Paths() {
				if isTest(name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// fixedPackages returns the packages of OPA with a fix.
func (p *parts) fixedPackages() (packages []string) {
	for _, s := range p.steps {
		for _, name := range s.Paths() {
			packages = append(packages, path.Join(opaModule, path.Dir(name)))
		}
	}
	return packages
}

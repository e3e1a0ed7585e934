// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// fixNames are the steps of the series that a build with the drop-in takes,
// without new tests: the steps that change OPA outside of v1/metrics.
var fixNames = []string{"split-chunks", "plain-values", "defined-decisions", "no-op-server", "no-op-default", "decode-once", "log-lines", "encode-events", hookFix}

// The fixes by which the plugin gets decisions from OPA's server.
const (
	hookFix    = "decision-hook"
	oldHookFix = "observed-decisions"
)

// inPlaceOf has the fixes that are not part of the series, but for the releases
// that a fix of the series does not fit.
var inPlaceOf = map[string]string{oldHookFix: hookFix, "kept-events": "split-chunks"}

// ownFiles has the steps of inPlaceOf and the templates.
//
//go:embed _opa
var ownFiles embed.FS

// A misfit says which file of a tree is not what a step was written for.
type misfit struct {
	path string
	err  error
}

func (m *misfit) Error() string { return m.path + ": " + m.err.Error() }

func (m *misfit) Unwrap() error { return m.err }

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

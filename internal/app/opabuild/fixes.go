// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// fixNames are the steps of the series that a build with the drop-in takes,
// without their tests: the steps that change OPA outside of v1/metrics.
var fixNames = []string{"no-op-server", "no-op-default", "split-chunks", hookFix}

// hookFix is the fix by which the plugin gets decisions from OPA's server. The
// older releases that it does not fit have the hook in hook.go instead.
const hookFix = "decision-hook"

// A misfit says which file of a tree is not what a step or the decision hook
// was written for.
type misfit struct {
	path string
	err  error
}

func (m *misfit) Error() string { return m.path + ": " + m.err.Error() }

func (m *misfit) Unwrap() error { return m.err }

// fixes returns the steps with the names of fixNames.
func fixes() ([]Step, error) {
	steps, err := Series()
	steps = slices.DeleteFunc(steps, func(s Step) bool {
		maps.DeleteFunc(s.files, func(name string, _ *fileChange) bool { return isTest(name) })
		return !slices.Contains(fixNames, s.Name)
	})
	return steps, err
}

// fixed names the fixes, for the record.
func (p *parts) fixed() string {
	var names []string
	for _, s := range p.fixes {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// has reports whether a fix is among the fixes.
func (p *parts) has(fix string) bool {
	return slices.ContainsFunc(p.fixes, func(s Step) bool { return s.Name == fix })
}

// fit leaves out the fixes that do not fit the OPA source tree in dir, as those
// that it already has. A fix is put in whole or not at all. hook says whether
// the plugin gets decisions from OPA's server.
func (p *parts) fit(dir, version string, hook bool, progress progress) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var fitting []Step
	changed := replacement{}
	for _, s := range p.fixes {
		next := maps.Clone(changed)
		differs, misfits := errors.AsType[*misfit](s.apply(root.FS(), next))
		switch {
		case s.Name == hookFix && (!hook || misfits):
		case misfits:
			progress.printf("leaves out the fix %s: OPA %s has it already, or differs in %s", s.Name, version, differs.path)
		default:
			fitting, changed = append(fitting, s), next
		}
	}
	p.fixes = fitting
	const server = "no-op-server"
	if hook && p.has(server) && !p.has(hookFix) { // the server must call the runtime for each decision, as hook.go expects
		progress.printf("leaves out the fix %s: OPA %s does not fit the fix %s, without which it hides decisions from the plugin", server, version, hookFix)
		p.fixes = slices.DeleteFunc(p.fixes, func(s Step) bool { return s.Name == server })
	}
	return nil
}

// fixedPackages returns the packages of OPA with a fix.
func (p *parts) fixedPackages() (packages []string) {
	for _, s := range p.fixes {
		for _, name := range s.Paths() {
			packages = append(packages, path.Join(opaModule, path.Dir(name)))
		}
	}
	return packages
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

//go:embed _upstream
var upstreamFiles embed.FS

// Series returns the steps by which OPA's own package v1/metrics, of
// [UpstreamVersion], could come close to the drop-in: small changes for its
// maintainers, each for an OPA with all steps before it.
func Series() ([]Step, error) {
	folder, err := fs.Sub(upstreamFiles, "_upstream")
	if err != nil {
		return nil, err
	}
	return loadSteps(folder)
}

// UpstreamSource returns the folder with the source of OPA that the series is
// for, in Go's module cache, where it gets it to if need be: it is not to be
// written to.
func UpstreamSource(ctx context.Context) (dir string, err error) {
	src, err := findSource(ctx, UpstreamVersion)
	if err != nil {
		return "", err
	}
	return src.local(ctx)
}

// AllSteps stands for their number where some of the first are asked for.
const AllSteps = -1

// firstSteps returns the first n steps of the series.
func firstSteps(n int) ([]Step, error) {
	steps, err := Series()
	if err != nil {
		return nil, err
	}
	if n == AllSteps {
		n = max(len(steps), 1)
	}
	if n < 1 || n > len(steps) {
		return nil, fmt.Errorf("there is no step %d: the series for OPA has %d", n, len(steps))
	}
	return steps[:n], nil
}

// stepsName says in messages what the first n steps are.
func stepsName(n int) string { return fmt.Sprintf("the series for OPA up to step %d", n) }

// ApplySteps puts steps, one after the other, into the OPA source tree in dir.
// If one of them finds something else than it is written for, the error says
// what and where, and nothing is changed.
func ApplySteps(dir string, steps []Step) error {
	if err := checkTree(dir); err != nil {
		return err
	}
	// Root may write to the module cache all the same, and must not.
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only, as in Go's module cache: take a copy or a checkout", dir)
	}
	root, err := os.OpenRoot(dir) // links do not lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	states, err := applied(root.FS(), steps)
	if err != nil {
		if version, _ := treeVersion(dir); version != UpstreamVersion[1:] {
			err = fmt.Errorf("%w\nThe series is written for OPA %s; this one calls itself %q", err, UpstreamVersion, version)
		}
		return err
	}
	all := replacement{}
	for _, r := range states {
		maps.Copy(all, r)
	}
	for name := range all {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
	}
	return withHint(all.apply(dir))
}

// applied returns, for each step, the files that it changes in the tree, as
// they are after it.
func applied(tree fs.FS, steps []Step) ([]replacement, error) {
	var states []replacement
	read := func(name string) ([]byte, error) {
		for _, r := range slices.Backward(states) {
			if text, ok := r[name]; ok {
				return text, nil
			}
		}
		return fs.ReadFile(tree, name)
	}
	for _, s := range steps {
		r, err := s.apply(read)
		if err != nil {
			return nil, err
		}
		states = append(states, r)
	}
	return states, nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/regometer/regometer/opa/opabuild/internal/gotool"
)

// NewestRelease returns OPA's newest release, without pre-releases, such as
// "v1.22.0".
func NewestRelease(ctx context.Context) (string, error) {
	// Away from any go.mod, as in download.
	dir, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return "", withHint(err)
	}
	defer os.RemoveAll(dir)
	out, err := gotool.Command{Dir: dir, Args: []string{"list", "-m", "-versions", "-json", opaModule}}.Output(ctx)
	if err != nil {
		return "", fmt.Errorf("listing OPA's releases: %w", err)
	}
	var m struct{ Versions []string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", fmt.Errorf("go list printed something else than JSON: %w", err)
	}
	return newest(m.Versions)
}

func newest(versions []string) (string, error) {
	found, highest := "", [4]int{}
	for _, name := range versions {
		if v, ok := parseVersion(name); ok && v[3] == 1 && less(highest, v) {
			found, highest = name, v
		}
	}
	if found == "" {
		return "", fmt.Errorf("the module proxy lists no release of %s", opaModule)
	}
	return found, nil
}

// A Review tells how an OPA fits what Regometer is written for, as far as that
// can be seen without a build.
type Review struct {
	OPA   string // its version, such as "v1.23.0"
	Known bool   // of NewestRange or older: built without a warning
	// Findings are what does not fit, each a sentence without its full stop.
	Findings []string
}

// ReviewOPA looks at an OPA as [Options] names it, its version or the folder of
// its source: at what it needs of v1/metrics that the drop-in lacks, at what is
// new there, at the place of the decision hook, and at what the steps of the
// series for OPA replace.
func ReviewOPA(ctx context.Context, opa string) (*Review, error) {
	d, err := loadDropIn()
	if err != nil {
		return nil, err
	}
	steps, err := Series()
	if err != nil {
		return nil, err
	}
	return review(ctx, opa, d, steps)
}

func review(ctx context.Context, opa string, d dropIn, steps []Step) (*Review, error) {
	src, err := findSource(ctx, opa)
	if err != nil {
		return nil, err
	}
	dir, err := src.local(ctx)
	if err != nil {
		return nil, err
	}
	version, err := treeVersion(dir)
	if err != nil {
		return nil, err
	}
	warning, err := checkRange(version)
	if err != nil {
		return nil, err
	}
	r := &Review{OPA: "v" + version, Known: warning == ""}
	env, err := gotool.Env(ctx, nil, targetVariables...)
	if err != nil {
		return nil, err
	}
	for _, look := range []func() (findings []string, err error){
		func() ([]string, error) { return missingNames(ctx, src.name, dir, d, env) },
		func() ([]string, error) { return newNames(ctx, dir, d, env) },
		func() ([]string, error) { return hookRefusal(ctx, dir, env) },
	} {
		findings, err := look()
		if err != nil {
			return nil, err
		}
		r.Findings = append(r.Findings, findings...)
	}
	if _, err := applied(os.DirFS(dir), steps); err != nil {
		r.Findings = append(r.Findings, fmt.Sprintf("the series for OPA does not apply: %v", err))
	}
	return r, nil
}

// missingNames tells what the OPA uses of v1/metrics that the drop-in lacks.
func missingNames(ctx context.Context, name, dir string, d dropIn, env map[string]string) (findings []string, err error) {
	err = checkNeeds(ctx, name, dir, d, env)
	var missing *MissingError
	if !errors.As(err, &missing) {
		return nil, err
	}
	for _, n := range missing.Names {
		findings = append(findings, "the drop-in lacks "+n)
	}
	return findings, nil
}

// newNames tells what OPA's package v1/metrics exports that the drop-in does
// not.
func newNames(ctx context.Context, dir string, d dropIn, env map[string]string) (findings []string, err error) {
	c, err := newChecker(ctx, dir, env)
	if err != nil {
		return nil, err
	}
	theirs, err := c.check(metricsPath)
	if err != nil {
		return nil, err
	}
	ours, err := c.checkDropIn(d)
	if err != nil {
		return nil, err
	}
	api := members(ours)
	for _, id := range slices.Sorted(maps.Keys(members(theirs))) {
		if api[id] == nil {
			findings = append(findings, fmt.Sprintf("OPA's v1/metrics exports %s, the drop-in does not", id))
		}
	}
	return findings, nil
}

// hookRefusal tells what keeps the decision hook out of the tree in dir.
func hookRefusal(ctx context.Context, dir string, env map[string]string) (findings []string, err error) {
	temp, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return nil, withHint(err)
	}
	defer os.RemoveAll(temp)
	tree := filepath.Join(temp, "src")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return nil, err
	}
	if err := copyTree(ctx, tree, dir); err != nil {
		return nil, withHint(err)
	}
	err = addHook(ctx, tree, env)
	var refused *hookError
	if errors.As(err, &refused) {
		return []string{fmt.Sprintf("the decision hook does not fit: %v", refused)}, nil
	}
	return nil, err
}

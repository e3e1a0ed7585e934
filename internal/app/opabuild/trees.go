// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/regometer/regometer/internal/app/outfile"
)

// Patched trees of OPA, about 100 MB each, are in the cache folder too:
//
//	trees/<key>/opa    a tree, which appears by one rename with all of these
//	trees/<key>/sum    the hash of what was put there
//	trees/<key>/hook   why the decision hook is not in it; not there if it is,
//	                   or was not asked for
//	trees/<key>/work-* what a build or a test with it needs, as long as it lasts
//	tree/              the tree that is being made
//
// Who builds or tests with a tree holds no lock, for that may take hours: a
// tree is removed only if it was not asked for since a day.
const (
	keepTrees    = 3
	keepTreesFor = 24 * time.Hour
)

// A cachedTree is an OPA source tree in the cache.
type cachedTree struct {
	dir     string
	refusal string // why the decision hook is not in it, or ""
}

// besideWork is a tree's path from its workDir. A binary holds it, so that it
// has to be the same wherever the cache is.
const besideWork = "../opa"

// workDir returns a new folder beside the tree, for the caller to remove. Those
// that killed processes left there go.
func (t cachedTree) workDir() (string, error) {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(t.dir), "work-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > keepTreesFor {
			_ = removeAll(dir)
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(t.dir), "work-")
	return dir, withHint(err)
}

// tree returns the tree with this key, which make makes in a folder that does
// not exist yet if it is not there, or was changed.
func (c cache) tree(ctx context.Context, key string, p progress, make func(dir string) (refusal string, err error)) (cachedTree, error) {
	if t, ok := c.findTree(ctx, key); ok {
		return t, nil
	}
	work, release, err := c.workDir(ctx, "tree", func() { p.printf("waiting for another copy of OPA's source to be made") })
	if err != nil {
		return cachedTree{}, err
	}
	defer func() { _ = release() }() // the next one empties it too
	if t, ok := c.findTree(ctx, key); ok {
		return t, nil // another process has made it meanwhile
	}
	refusal, err := make(filepath.Join(work, "opa"))
	if err != nil {
		return cachedTree{}, err
	}
	sum, err := hashTree(ctx, filepath.Join(work, "opa"))
	if err != nil {
		return cachedTree{}, err
	}
	if err := outfile.Write(filepath.Join(work, "sum"), []byte(sum)); err != nil {
		return cachedTree{}, err
	}
	if refusal != "" {
		if err := outfile.Write(filepath.Join(work, "hook"), []byte(refusal)); err != nil {
			return cachedTree{}, err
		}
	}
	dir := filepath.Join(c.dir, "trees", key)
	if err := errors.Join(removeAll(dir), os.MkdirAll(filepath.Dir(dir), 0o755)); err != nil {
		return cachedTree{}, err
	}
	if err := os.Rename(work, dir); err != nil {
		return cachedTree{}, err
	}
	c.pruneFolder("trees", keepTrees, keepTreesFor)
	return cachedTree{dir: filepath.Join(dir, "opa"), refusal: refusal}, nil
}

// findTree returns the tree with this key if it is there and whole, and marks
// it as used.
func (c cache) findTree(ctx context.Context, key string) (cachedTree, bool) {
	dir := filepath.Join(c.dir, "trees", key)
	want, err := os.ReadFile(filepath.Join(dir, "sum"))
	if err != nil {
		return cachedTree{}, false
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // first, so that it stays while it is read
	sum, err := hashTree(ctx, filepath.Join(dir, "opa"))
	if err != nil || sum != string(want) {
		return cachedTree{}, false
	}
	refusal, err := os.ReadFile(filepath.Join(dir, "hook"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cachedTree{}, false
	}
	return cachedTree{dir: filepath.Join(dir, "opa"), refusal: string(refusal)}, true
}

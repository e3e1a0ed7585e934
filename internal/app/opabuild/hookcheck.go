// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// checkHook returns a [*hookError] if the hook in the tree in dir does not
// compile with the packages that it uses. All supported releases of OPA have
// what the hook uses, but later ones may not. A compiler would need all of
// OPA's dependencies to tell.
func checkHook(ctx context.Context, dir string, env map[string]string) (refusal *hookError, err error) {
	tags, err := buildTags(dir)
	if err != nil {
		return nil, err
	}
	b := build.Default
	b.GOOS, b.GOARCH, b.CgoEnabled, b.BuildTags = env["GOOS"], env["GOARCH"], false, tags
	c := &checker{ctx: ctx, root: dir, build: b, fset: token.NewFileSet(), packages: map[string]*types.Package{}}
	if _, err := c.Import(path.Join(opaModule, runtimeDir)); err != nil {
		return nil, err
	}
	return c.refusal, nil
}

// A checker type-checks packages of one source tree of OPA.
type checker struct {
	ctx      context.Context
	root     string
	build    build.Context
	fset     *token.FileSet
	packages map[string]*types.Package // by import path, nil while it is checked
	refusal  *hookError                // the first error in the hook
}

// Import makes a checker a [types.Importer]. go/types treats what it does not
// find as unknown and goes on.
func (c *checker) Import(importPath string) (*types.Package, error) {
	rest, ours := strings.CutPrefix(importPath, opaModule+"/")
	if pkg, ok := c.packages[importPath]; ok && pkg != nil {
		return pkg, nil
	} else if ok || !ours {
		return nil, errors.New("an import cycle, or a package outside of the tree")
	}
	c.packages[importPath] = nil
	dir := filepath.Join(c.root, filepath.FromSlash(rest))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		if ok, err := c.build.MatchFile(dir, e.Name()); err != nil || !ok || !strings.HasSuffix(e.Name(), ".go") || isTest(e.Name()) {
			continue
		}
		f, err := parser.ParseFile(c.fset, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: c, FakeImportC: true, Error: c.noteError}
	c.packages[importPath], _ = conf.Check(importPath, c.fset, files, nil)
	return c.packages[importPath], c.ctx.Err()
}

// noteError keeps the first error in the hook's file. OPA's own files have
// errors because packages outside of the tree are missing.
func (c *checker) noteError(err error) {
	var e types.Error
	if !errors.As(err, &e) || strings.HasPrefix(e.Msg, "could not import ") || c.refusal != nil {
		return
	}
	if p := c.fset.Position(e.Pos); filepath.Base(p.Filename) == hookFile {
		c.refusal = &hookError{fmt.Sprintf("%s:%d", path.Join(runtimeDir, hookFile), p.Line), "what the hook can be compiled with", e.Msg}
	}
}

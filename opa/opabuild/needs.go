// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A MissingError tells that an OPA needs something of its package metrics
// that the drop-in lacks, or has with another type.
type MissingError struct {
	OPA   string
	Names []string // such as "metrics.Timer.Reset, needed at v1/server/server.go:12"
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s needs what the drop-in lacks:\n  %s\nBuild it unmodified, or use an OPA from %s to %s.",
		e.OPA, strings.Join(e.Names, "\n  "), OldestVersion, NewestRange)
}

// checkNeeds returns a [*MissingError] if the opa command of the source tree
// in dir uses a name, method or field of v1/metrics that the drop-in lacks or
// whose signature differs. It takes seconds where a build takes minutes.
//
// It type-checks the command and the packages of the tree that it imports,
// and looks at what every identifier there means. Other modules and the
// standard library are left out, so that a use may escape it of which only
// their types would tell that it is one; and it compares no interface with
// its implementations. The compiler has the last word on both.
func checkNeeds(ctx context.Context, name, dir string, d dropIn, env map[string]string) error {
	c, err := newChecker(ctx, dir, env)
	if err != nil {
		return err
	}
	if _, err := c.check(opaModule); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	// What OPA declares and what it uses of that is known by now.
	theirs := c.pkgs[metricsPath]
	if theirs == nil {
		return nil // it does not use the package at all
	}
	ours, err := c.checkDropIn(d)
	if err != nil {
		return err
	}
	api := members(ours)
	needed := members(theirs)
	var missing []string
	for _, id := range slices.Sorted(maps.Keys(needed)) {
		obj := needed[id]
		pos, used := c.uses[obj]
		if !used {
			continue
		}
		where := "needed at " + c.position(pos)
		our, ok := api[id]
		switch {
		case !ok:
			missing = append(missing, fmt.Sprintf("metrics.%s, %s", id, where))
		case signature(our) != signature(obj):
			missing = append(missing, fmt.Sprintf("metrics.%s as %s (the drop-in has %s), %s", id, signature(obj), signature(our), where))
		}
	}
	if len(missing) > 0 {
		return &MissingError{OPA: name, Names: missing}
	}
	return nil
}

var metricsPath = path.Join(opaModule, filepath.ToSlash(metricsDir))

// members returns a package's exported names and the exported methods and
// fields of its types, as "Name" and "Type.Member": the two packages have no
// object in common, only names.
func members(pkg *types.Package) map[string]types.Object {
	m := map[string]types.Object{}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		m[name] = obj
		t, ok := obj.(*types.TypeName)
		if !ok {
			continue
		}
		add := func(o types.Object) {
			if o.Exported() {
				m[name+"."+o.Name()] = o
			}
		}
		switch u := t.Type().Underlying().(type) {
		case *types.Interface:
			for f := range u.ExplicitMethods() {
				add(f)
			}
		case *types.Struct:
			for f := range u.Fields() {
				add(f)
			}
		}
		if n, ok := t.Type().(*types.Named); ok {
			for f := range n.Methods() {
				add(f)
			}
		}
	}
	return m
}

// signature returns the type of a function or method in words that are equal
// for equal types of the two packages, and what kind of thing others are. Names
// of parameters and the receiver are left out: callers do not see them. So is
// what is behind a type's name: its members are compared one by one.
func signature(obj types.Object) string {
	if f, ok := obj.Type().(*types.Signature); ok {
		unnamed := func(t *types.Tuple) *types.Tuple {
			var vars []*types.Var
			for v := range t.Variables() {
				vars = append(vars, types.NewParam(token.NoPos, nil, "", v.Type()))
			}
			return types.NewTuple(vars...)
		}
		f = types.NewSignatureType(nil, nil, nil, unnamed(f.Params()), unnamed(f.Results()), f.Variadic())
		return typeString(f)
	}
	switch obj.(type) {
	case *types.TypeName:
		return "a type"
	case *types.Const:
		return "a constant"
	}
	return "a variable of type " + typeString(obj.Type())
}

// typeString writes packages by their names, since both are called metrics.
func typeString(t types.Type) string {
	return strings.ReplaceAll(types.TypeString(t, (*types.Package).Name), "interface{}", "any")
}

// A checker type-checks packages of one source tree.
type checker struct {
	ctx   context.Context
	root  string
	build build.Context
	fset  *token.FileSet
	pkgs  map[string]*types.Package // by import path; nil while one is being checked
	// uses has one position for each object of the package metrics that is
	// used outside of it.
	uses map[types.Object]token.Pos
	// errors has what does not fit, and what imports do that are missing.
	errors []types.Error
}

func newChecker(ctx context.Context, root string, env map[string]string) (*checker, error) {
	tags, err := buildTags(root)
	if err != nil {
		return nil, err
	}
	// As the build has it, or files for other systems would be read.
	b := build.Default
	b.GOOS, b.GOARCH = env["GOOS"], env["GOARCH"]
	b.CgoEnabled = false
	b.BuildTags = tags
	return &checker{
		ctx: ctx, root: root, build: b, fset: token.NewFileSet(),
		pkgs: map[string]*types.Package{}, uses: map[types.Object]token.Pos{},
	}, nil
}

var errOutside = errors.New("not in the tree")

// Import makes a checker a [types.Importer]. What it does not find, go/types
// treats as unknown and goes on.
func (c *checker) Import(importPath string) (*types.Package, error) {
	if importPath == "unsafe" {
		return types.Unsafe, nil
	}
	if importPath != opaModule && !strings.HasPrefix(importPath, opaModule+"/") {
		return nil, errOutside
	}
	return c.check(importPath)
}

// check type-checks a package of the tree and the packages that it imports.
func (c *checker) check(importPath string) (*types.Package, error) {
	if pkg, ok := c.pkgs[importPath]; ok {
		if pkg == nil {
			return nil, fmt.Errorf("import cycle through %s", importPath)
		}
		return pkg, nil
	}
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	c.pkgs[importPath] = nil // it imports itself if it is asked for now
	dir := filepath.Join(c.root, filepath.FromSlash(strings.TrimPrefix(importPath, opaModule)))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || e.IsDir() {
			continue
		}
		if ok, err := c.build.MatchFile(dir, name); err != nil || !ok {
			continue
		}
		f, err := parser.ParseFile(c.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	pkg := c.checkFiles(importPath, files)
	c.pkgs[importPath] = pkg
	return pkg, c.ctx.Err()
}

// checkDropIn type-checks the drop-in, alone.
func (c *checker) checkDropIn(d dropIn) (*types.Package, error) {
	matching := c.build
	matching.OpenFile = func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(d[filepath.Base(name)])), nil
	}
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(d.withoutTests())) {
		// Only one of unsafe.go and unsafe_purego.go, for example.
		if ok, err := matching.MatchFile("", name); err != nil || !ok {
			continue
		}
		f, err := parser.ParseFile(c.fset, name, d[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return c.checkFiles(metricsPath, files), nil
}

// checkFiles returns what can be known of a package. Errors are expected,
// since imports are missing.
func (c *checker) checkFiles(importPath string, files []*ast.File) *types.Package {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: c, FakeImportC: true, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) {
			c.errors = append(c.errors, e)
		}
	}}
	pkg, _ := conf.Check(importPath, c.fset, files, info)
	// A method that is used through a type of OPA's own which embeds one of the
	// package's is found too: Uses has the object that is declared there.
	for id, obj := range info.Uses {
		if importPath == metricsPath || obj.Pkg() == nil || obj.Pkg().Path() != metricsPath {
			continue
		}
		if pos, ok := c.uses[obj]; !ok || id.Pos() < pos { // the first, as maps have no order
			c.uses[obj] = id.Pos()
		}
	}
	return pkg
}

// position returns a place as "folder/file.go:12", relative to the tree.
func (c *checker) position(pos token.Pos) string {
	p := c.fset.Position(pos)
	if rel, err := filepath.Rel(c.root, p.Filename); err == nil {
		p.Filename = filepath.ToSlash(rel)
	}
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

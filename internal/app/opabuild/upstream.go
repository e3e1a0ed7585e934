// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/format"
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer"
)

// upstream returns the drop-in, which has its tests, as OPA's maintainers would
// commit it to the tree in root: with OPA's licence header, without build
// constraints that the tree's go.mod implies, and of the tests those that
// import nothing but the standard library and the package. A note says why no
// tests come along, if so.
func (d dropIn) upstream(root string) (_ dropIn, note string, err error) {
	treeGo, err := language(os.DirFS(root))
	if err != nil {
		return nil, "", err
	}
	ourGo, err := language(regometer.DropIn)
	if err != nil {
		return nil, "", err
	}
	out := dropIn{}
	for name, text := range d {
		f := upstreamFile{name: name, text: text, fset: token.NewFileSet()}
		if text, err = f.rewrite(treeGo); err != nil {
			return nil, "", err
		}
		if text != nil {
			out[name] = text
		}
	}
	bare := out.withoutTests()
	if len(bare) == len(out) || version.Compare(treeGo, ourGo) >= 0 {
		return out, "", nil
	}
	return bare, fmt.Sprintf("the drop-in's own tests are left out: they are written for %s, this OPA for %s", ourGo, treeGo), nil
}

// language returns the Go version that the go.mod in a folder asks for, as
// "go1.22".
func language(folder fs.FS) (string, error) {
	mod, err := fs.ReadFile(folder, "go.mod")
	if err != nil {
		return "", err
	}
	m := goLine.FindSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("no go line in the go.mod of %v", folder)
	}
	return fmt.Sprintf("go%s.%s", m[1], m[2]), nil
}

// An upstreamFile is a file of the drop-in that is being rewritten.
type upstreamFile struct {
	name string
	text []byte
	fset *token.FileSet
	file *ast.File
}

var (
	ourHeader = regexp.MustCompile(`^// Copyright (\d+) The Regometer Authors\n// SPDX-License-Identifier: Apache-2\.0\n`)
	opaHeader = "// Copyright $1 The OPA Authors.  All rights reserved.\n" +
		"// Use of this source code is governed by an Apache2\n// license that can be found in the LICENSE file.\n"
)

// withOPAHeader returns the text of a file with OPA's header in the place of
// ours.
func withOPAHeader(text []byte) []byte { return ourHeader.ReplaceAll(text, []byte(opaHeader)) }

// rewrite returns the file's text for a tree of this Go version, or nil if it
// has no place there.
func (f *upstreamFile) rewrite(treeGo string) (_ []byte, err error) {
	if f.file, err = parser.ParseFile(f.fset, f.name, f.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	// From the end to the beginning, so that the positions hold.
	for _, i := range slices.Backward(f.file.Imports) {
		switch host, _, _ := strings.Cut(i.Path.Value, "/"); {
		case i.Path.Value == strconv.Quote(modulePath("metrics")):
			f.replace(i.Path, strconv.Quote(metricsPath))
		case isTest(f.name) && strings.Contains(host, "."): // not of the standard library
			return nil, nil
		}
	}
	if line := f.constraint(); line != nil {
		expr, err := constraint.Parse(line.Text)
		if err != nil {
			return nil, err
		}
		switch rest, ok := assume(expr, treeGo); {
		case rest != nil:
			f.replace(line, "//go:build "+rest.String())
		case ok:
			f.replace(line, "")
		default:
			return nil, nil
		}
	}
	return format.Source(withOPAHeader(f.text))
}

// constraint returns the line of the build constraint, nil if there is none.
func (f *upstreamFile) constraint() *ast.Comment {
	for _, group := range f.file.Comments {
		for _, c := range group.List {
			if c.Pos() < f.file.Package && constraint.IsGoBuild(c.Text) {
				return c
			}
		}
	}
	return nil
}

// replace replaces the text of a node.
func (f *upstreamFile) replace(n ast.Node, text string) {
	from, to := f.fset.Position(n.Pos()).Offset, f.fset.Position(n.End()).Offset
	f.text = slices.Concat(f.text[:from], []byte(text), f.text[to:])
}

// assume returns what is left of a build constraint where Go is of this version
// or newer. If nothing is left, ok is what the constraint says.
func assume(x constraint.Expr, goVersion string) (rest constraint.Expr, ok bool) {
	switch x := x.(type) {
	case *constraint.TagExpr:
		if version.IsValid(x.Tag) && version.Compare(goVersion, x.Tag) >= 0 {
			return nil, true
		}
	case *constraint.NotExpr:
		if rest, ok = assume(x.X, goVersion); rest == nil {
			return nil, !ok
		}
		return &constraint.NotExpr{X: rest}, false
	case *constraint.AndExpr:
		return assumeBoth(x.X, x.Y, goVersion, false, func(a, b constraint.Expr) constraint.Expr {
			return &constraint.AndExpr{X: a, Y: b}
		})
	case *constraint.OrExpr:
		return assumeBoth(x.X, x.Y, goVersion, true, func(a, b constraint.Expr) constraint.Expr {
			return &constraint.OrExpr{X: a, Y: b}
		})
	}
	return x, false
}

// assumeBoth does so for two operands, of which one that is decisive decides
// alone.
func assumeBoth(x, y constraint.Expr, goVersion string, decisive bool, join func(a, b constraint.Expr) constraint.Expr) (constraint.Expr, bool) {
	a, aOK := assume(x, goVersion)
	b, bOK := assume(y, goVersion)
	switch {
	case a == nil && aOK == decisive, b == nil && bOK == decisive:
		return nil, decisive
	case a == nil:
		return b, bOK
	case b == nil:
		return a, aOK
	}
	return join(a, b), false
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A goFile is a Go file in pieces. Together they are its text, byte by byte, so
// that what no step changes stays as it is.
type goFile struct {
	name   string
	fset   *token.FileSet
	syntax *ast.File
	head   string // all before the first declaration that is no import
	decls  []decl
}

// A decl is a declaration at a file's top.
type decl struct {
	name string // see declName
	text string // with its doc comment, and with one that stands behind it
	gap  string // what follows, up to the next one
}

func parseFile(name string, text []byte) (*goFile, error) {
	f := &goFile{name: name, fset: token.NewFileSet()}
	var err error
	if f.syntax, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	f.head = string(text)
	end := 0
	for _, d := range f.syntax.Decls {
		if isImport(d) {
			continue
		}
		from, to := f.span(d)
		if len(f.decls) == 0 {
			f.head = string(text[:from])
		} else {
			f.decls[len(f.decls)-1].gap = string(text[end:from])
		}
		f.decls = append(f.decls, decl{name: declName(d), text: string(text[from:to]), gap: string(text[to:])})
		end = to
	}
	return f, nil
}

func isImport(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.IMPORT
}

func (f *goFile) offset(p token.Pos) int { return f.fset.PositionFor(p, false).Offset }
func (f *goFile) line(p token.Pos) int   { return f.fset.PositionFor(p, false).Line }

// span returns from where to where a declaration goes, its comments included.
func (f *goFile) span(d ast.Decl) (from, to int) {
	start, end := d.Pos(), d.End()
	doc := docOf(d)
	if doc != nil {
		start = doc.Pos()
	}
	for _, c := range f.syntax.Comments {
		if c.Pos() >= end && f.line(c.Pos()) == f.line(end) {
			end = c.End()
		}
	}
	return f.offset(start), f.offset(end)
}

func docOf(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// declName returns what a declaration goes by: f, (T).m, (*T).m or, for any
// other, the first name in it.
func declName(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return d.Name.Name
		}
		return "(" + receiverName(d.Recv.List[0].Type) + ")." + d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				return spec.Name.Name
			case *ast.ValueSpec:
				return spec.Names[0].Name
			}
		}
	}
	return "()" // an empty group
}

// receiverName leaves type parameters out.
func receiverName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return "*" + receiverName(x.X)
	case *ast.ParenExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.IndexListExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// checkStray returns an error if a step's file has comments that go nowhere,
// for want of a declaration that they belong to.
func (f *goFile) checkStray() error {
	for _, c := range f.syntax.Comments {
		stray := c != f.syntax.Comments[0] // the header
		for _, d := range f.syntax.Decls {
			from, to := f.span(d)
			if from <= f.offset(c.Pos()) && f.offset(c.End()) <= to {
				stray = false
			}
		}
		if stray {
			return fmt.Errorf("%s:%d: the comment belongs to no declaration, and would not come along", f.name, f.line(c.Pos()))
		}
	}
	return nil
}

// find returns the index of a declaration, -1 if there is none.
func (f *goFile) find(name string) int {
	return slices.IndexFunc(f.decls, func(d decl) bool { return d.name == name })
}

// change carries out a change by the declarations in the step's file.
func (f *goFile) change(c change, ours *goFile) error {
	i := f.find(c.name)
	switch {
	case c.verb == "add" && i >= 0 && c.name != "_" && c.name != "init":
		return fmt.Errorf("no %s to add: declared already", c.name)
	case c.verb != "add" && i < 0:
		return fmt.Errorf("no declaration %s to %s", c.name, c.verb)
	case c.verb == "add":
		return f.add(c.after, ours.decls[ours.find(c.name)])
	case c.verb == "extend":
		return f.decls[i].extend(ours.decls[ours.find(c.name)])
	}
	if hash := hashOfDecl(f.decls[i].text); hash != c.hash {
		return fmt.Errorf("%s is not what the step was written for (its text's hash is %s, expected %s)", c.name, hash, cmp.Or(c.hash, "none"))
	}
	if c.verb == "replace" {
		f.decls[i].text = ours.decls[ours.find(c.name)].text
		return nil
	}
	f.remove(i)
	return nil
}

// remove takes out a declaration, and the empty line before or behind it: the
// gap that is left is as wide as the wider of the two.
func (f *goFile) remove(i int) {
	before := &f.head
	if i > 0 {
		before = &f.decls[i-1].gap
	}
	behind := f.decls[i].gap
	a, b := strings.TrimRight(*before, "\n"), strings.TrimLeft(behind, "\n")
	lines := max(len(*before)-len(a), len(behind)-len(b))
	*before = a + strings.Repeat("\n", lines) + b
	f.decls = slices.Delete(f.decls, i, i+1)
}

// add puts a declaration behind the one that is named, or at the file's end.
func (f *goFile) add(after string, d decl) error {
	if len(f.decls) == 0 && after == "" {
		f.head = strings.TrimRight(f.head, "\n") + "\n\n"
		f.decls = []decl{{name: d.name, text: d.text, gap: "\n"}}
		return nil
	}
	i := len(f.decls) - 1
	if after != "" {
		if i = f.find(after); i < 0 {
			return fmt.Errorf("no declaration %s to put %s behind", after, d.name)
		}
	}
	last := &f.decls[i]
	added := decl{name: d.name, text: d.text, gap: last.gap}
	amongLines := last.gap == "\n" && i+1 < len(f.decls)
	switch {
	case after == "": // behind comments that may be there, too
		last.gap, added.gap = strings.TrimRight(last.gap, "\n")+"\n\n", "\n"
	case amongLines && !strings.Contains(d.text, "\n"): // a line itself
	case amongLines:
		last.gap, added.gap = "\n\n", "\n\n"
	default:
		last.gap = "\n\n"
	}
	f.decls = slices.Insert(f.decls, i+1, added)
	return nil
}

// extend puts the fields of a struct type behind those of d, and an empty line
// between them.
func (d *decl) extend(by decl) error {
	own, _, end, ok := fieldsOf(d.text)
	if !ok {
		return fmt.Errorf("%s is no struct type to extend", d.name)
	}
	added, from, to, ok := fieldsOf(by.text)
	if !ok {
		return fmt.Errorf("%s, in the step's file, is no struct type", d.name)
	}
	for _, name := range added {
		if slices.Contains(own, name) {
			return fmt.Errorf("%s has a field %s already", d.name, name)
		}
	}
	d.text = d.text[:end] + "\n" + strings.Trim(by.text[from:to], "\n") + "\n" + d.text[end:]
	return nil
}

// fieldsOf returns the names of the fields in the text of a struct type, and
// from where to where they go.
func fieldsOf(text string) (names []string, from, to int, ok bool) {
	const clause = "package p\n"
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", clause+text, parser.SkipObjectResolution)
	if err != nil { // not so: it is a part of what was parsed
		return nil, 0, 0, false
	}
	var t *ast.StructType
	if d, _ := f.Decls[0].(*ast.GenDecl); d != nil && len(d.Specs) == 1 {
		if spec, _ := d.Specs[0].(*ast.TypeSpec); spec != nil {
			t, _ = spec.Type.(*ast.StructType)
		}
	}
	if t == nil {
		return nil, 0, 0, false
	}
	for _, field := range t.Fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset - len(clause) }
	return names, offset(t.Fields.Opening) + 1, offset(t.Fields.Closing), true
}

func (f *goFile) text() []byte {
	var b bytes.Buffer
	b.WriteString(f.head)
	for _, d := range f.decls {
		b.WriteString(d.text)
		b.WriteString(d.gap)
	}
	return b.Bytes()
}

// finish returns the file's text after the changes, with the imports that it
// needs.
func (f *goFile) finish(ours *goFile) ([]byte, error) {
	text, err := formatGo(f.name, f.text())
	if err != nil {
		return nil, err
	}
	var wanted []*ast.ImportSpec
	if ours != nil {
		wanted = ours.syntax.Imports
	}
	return arrangeImports(f.name, f.syntax, text, wanted)
}

func formatGo(name string, text []byte) ([]byte, error) {
	out, err := format.Source(text)
	if err != nil {
		return nil, fmt.Errorf("the result is no Go: %s:%w", name, err)
	}
	return out, nil
}

// hashOfDecl returns what a declaration's text is known by.
func hashOfDecl(text string) string {
	formatted := []byte(text)
	if out, err := format.Source(formatted); err == nil {
		formatted = out
	}
	h := sha256.Sum256(formatted)
	return hex.EncodeToString(h[:])[:12]
}

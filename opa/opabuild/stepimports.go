// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// arrangeImports puts in those of the wanted imports that text uses, and takes
// out those that the file used before and text does not use any more. Packages
// that are imported for other reasons stay.
func arrangeImports(name string, before *ast.File, text []byte, wanted []*ast.ImportSpec) ([]byte, error) {
	f, err := parseFile(name, text)
	if err != nil {
		return nil, err
	}
	used, usedBefore := usedNames(f.syntax), usedNames(before)
	present := map[string]bool{}
	for _, spec := range f.syntax.Imports {
		present[specText(spec)] = true
	}
	for _, spec := range wanted {
		if n := importName(spec); !present[specText(spec)] && (used[n] || n == "_" || n == ".") {
			if f, err = f.addImport(spec); err != nil {
				return nil, err
			}
		}
	}
	lines := slices.Collect(strings.Lines(string(f.text())))
	for _, spec := range slices.Backward(f.syntax.Imports) { // so that the lines hold
		if n := importName(spec); usedBefore[n] && !used[n] {
			from, to := f.importLines(spec)
			lines = slices.Delete(lines, from-1, to)
		}
	}
	return formatGo(name, emptyImport.ReplaceAll([]byte(strings.Join(lines, "")), nil))
}

var emptyImport = regexp.MustCompile(`(?m)^import \(\s*\)\n`)

// usedNames returns what stands before a dot in a file: packages, and variables
// too. If one of these has a package's name, the compiler finds the import.
func usedNames(f *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				names[x.Name] = true
			}
		}
		return true
	})
	return names
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// importName returns the name that a file uses a package by, by convention if
// it does not say.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	p := importPath(spec)
	if majorVersion.MatchString(path.Base(p)) {
		p = path.Dir(p)
	}
	return path.Base(p)
}

func specText(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name + " " + spec.Path.Value
	}
	return spec.Path.Value
}

// importGroup returns in which group of imports OPA puts a package: the
// standard library's, others' or its own.
func importGroup(spec *ast.ImportSpec) int {
	p := importPath(spec)
	host, _, _ := strings.Cut(p, "/")
	switch {
	case p == opaModule || strings.HasPrefix(p, opaModule+"/"):
		return 2
	case strings.Contains(host, "."):
		return 1
	}
	return 0
}

// importLines returns the first and the last line of an import, its comments
// included.
func (f *goFile) importLines(spec *ast.ImportSpec) (from, to int) {
	if spec.Doc != nil {
		return f.line(spec.Doc.Pos()), f.line(spec.End())
	}
	return f.line(spec.Pos()), f.line(spec.End())
}

// addImport returns the file with an import behind the last one of its group,
// or where that group has its place, in the file's first block. gofmt sorts it
// there.
func (f *goFile) addImport(spec *ast.ImportSpec) (*goFile, error) {
	f, block, err := f.importBlock()
	if err != nil {
		return nil, err
	}
	var last *ast.ImportSpec // of its group or, if there is none, of one before
	for _, s := range block.Specs {
		if s := s.(*ast.ImportSpec); importGroup(s) <= importGroup(spec) && (last == nil || importGroup(s) >= importGroup(last)) {
			last = s
		}
	}
	line := f.line(block.Lparen)
	added := []string{"\t" + specText(spec) + "\n"}
	switch {
	case last == nil:
		added = append(added, "\n")
	case importGroup(last) == importGroup(spec):
		line = f.line(last.End())
	default:
		line = f.line(last.End())
		added = slices.Insert(added, 0, "\n")
	}
	lines := slices.Collect(strings.Lines(string(f.text())))
	return parseFile(f.name, []byte(strings.Join(slices.Insert(lines, line, added...), "")))
}

// importBlock returns the file's first imports in parentheses, which it puts
// there if there are none.
func (f *goFile) importBlock() (*goFile, *ast.GenDecl, error) {
	var first *ast.GenDecl
	for _, d := range f.syntax.Decls {
		if !isImport(d) {
			continue
		}
		block := d.(*ast.GenDecl)
		if block.Lparen.IsValid() {
			return f, block, nil
		}
		if first == nil {
			first = block
		}
	}
	text := string(f.text())
	if first == nil {
		at := f.offset(f.syntax.Name.End())
		text = text[:at] + "\n\nimport (\n)" + text[at:]
	} else {
		from := f.offset(first.Specs[0].Pos())
		_, to := f.span(first)
		text = text[:from] + "(\n\t" + text[from:to] + "\n)" + text[to:]
	}
	f, err := parseFile(f.name, []byte(text))
	if err != nil {
		return nil, nil, err
	}
	return f.importBlock()
}

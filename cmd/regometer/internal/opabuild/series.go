// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

//go:embed _upstream
var upstreamFiles embed.FS

// A Step is one change of the series for OPA: one commit for its maintainers.
// _upstream/README.md describes a step's folder.
type Step struct {
	Number  int    // from 1
	Name    string // of its folder, without the number
	Message string // of the commit

	files   map[string]*fileChange // by path in OPA's tree
	content string                 // hash of all files except the message
}

// A fileChange is what a step does to a file of OPA's tree. A file that OPA
// lacks has only the text.
type fileChange struct {
	text  []byte            // of the step's Go file
	after map[string]string // new declarations and their predecessors
	edits []edit
}

// An edit changes lines of a declaration, or removes all of it. The old lines
// must occur exactly once.
type edit struct{ name, old, new string }

// Series returns the steps that bring OPA's own package v1/metrics, of
// [NewestVersion], close to the drop-in. Each step needs all steps before it.
func Series() ([]Step, error) {
	folder, err := fs.Sub(upstreamFiles, "_upstream")
	if err != nil {
		return nil, err
	}
	return loadSteps(folder)
}

var stepFolder = regexp.MustCompile(`^(\d\d)-([a-z0-9-]+)$`)

// loadSteps returns the steps in the folders of fsys, in their order.
func loadSteps(fsys fs.FS) (steps []Step, err error) {
	folders, err := fs.Glob(fsys, "[0-9]*")
	if err != nil {
		return nil, err
	}
	for i, name := range folders {
		m := stepFolder.FindStringSubmatch(name)
		if m == nil || m[1] != fmt.Sprintf("%02d", i+1) {
			return nil, fmt.Errorf("step %s: invalid name, want %02d- and words", name, i+1)
		}
		s := Step{Number: i + 1, Name: m[2], files: map[string]*fileChange{}}
		if err := s.load(fsys, name); err != nil {
			return nil, fmt.Errorf("step %s: %w", name, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// load reads the step's folder.
func (s *Step) load(fsys fs.FS, folder string) error {
	var values []any
	return fs.WalkDir(fsys, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		switch name = strings.TrimPrefix(name, folder+"/"); {
		case name == "message.txt":
			s.Message = string(text)
			if subject, body, _ := strings.Cut(s.Message, "\n"); subject == "" || body != "" && body[0] != '\n' {
				return errors.New("message.txt: want a subject and an empty line first")
			}
			return nil // the message changes no binary
		case name == "changes.txt":
			if err := s.parseChanges(string(text)); err != nil {
				return err
			}
		case path.Ext(name) == ".go":
			s.file(name).text = text
		default:
			return fmt.Errorf("unknown file %s", name)
		}
		values = append(values, name, text)
		s.content = hashAll(values...)
		return nil
	})
}

// file returns the change of a file, a new one if there is none.
func (s *Step) file(path string) *fileChange {
	if s.files[path] == nil {
		s.files[path] = &fileChange{after: map[string]string{}}
	}
	return s.files[path]
}

// parseChanges reads changes.txt, which _upstream/README.md describes.
func (s *Step) parseChanges(text string) error {
	var last *edit
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch mark := line[0]; {
		case line == "\n":
			continue
		case last != nil && strings.IndexByte(" -+", mark) >= 0:
			if mark != '+' {
				last.old += line[1:]
			}
			if mark != '-' {
				last.new += line[1:]
			}
			continue
		case len(words) == 2:
			f := s.file(words[0])
			f.edits = append(f.edits, edit{name: words[1]})
			last = &f.edits[len(f.edits)-1]
			continue
		case len(words) == 4 && words[2] == "after":
			s.file(words[0]).after[words[1]] = words[3]
		default:
			return fmt.Errorf("changes.txt: invalid line %q, want PATH NAME or PATH NAME after NAME", line)
		}
		last = nil
	}
	return nil
}

// Paths returns the files of OPA's tree that the step changes or adds, sorted.
func (s Step) Paths() []string { return slices.Sorted(maps.Keys(s.files)) }

// changeBySteps returns what the steps change in the OPA source tree in dir. If
// a step does not find what it was written for, the error names the step and the
// declaration.
func changeBySteps(dir string, steps []Step) (replacement, error) {
	root, err := os.OpenRoot(dir) // a link must not lead outside
	if err != nil {
		return nil, err
	}
	defer root.Close()
	changed := replacement{}
	for _, s := range steps {
		if err := s.apply(root.FS(), changed); err != nil {
			err = fmt.Errorf("step %d (%s): %w", s.Number, s.Name, err)
			if version, _ := treeVersion(dir); version != NewestVersion[1:] {
				err = fmt.Errorf("%w\nThe series is written for OPA %s, but this OPA is %q", err, NewestVersion, version)
			}
			return nil, err
		}
	}
	return changed, nil
}

// apply adds to changed the files that the step changes in the tree with the
// files that changed already has. Its errors are of type [*misfit].
func (s Step) apply(tree fs.FS, changed replacement) error {
	for _, name := range s.Paths() {
		change := s.files[name]
		text, ok := changed[name]
		if !ok {
			var err error
			if text, err = fs.ReadFile(tree, name); errors.Is(err, fs.ErrNotExist) && change.edits == nil {
				changed[name] = withOPAHeader(change.text)
				continue
			} else if err != nil {
				return &misfit{name, err}
			}
		}
		text, err := change.apply(name, text)
		if err != nil {
			return &misfit{name, err}
		}
		changed[name] = text
	}
	return nil
}

// apply returns the text of a file of OPA's with the change. A new declaration
// follows the declaration that the change names, or else its predecessor in the
// step's file. If there is none, it ends the file.
func (c *fileChange) apply(name string, text []byte) ([]byte, error) {
	f, err := splitFile(name, text)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{} // imports
	for _, spec := range f.syntax.Imports {
		used[spec.Path.Value] = astutil.UsesImport(f.syntax, unquoted(spec))
	}
	step := &goFile{syntax: &ast.File{}}
	if c.text != nil {
		if step, err = splitFile(name, c.text); err != nil {
			return nil, err
		}
	}
	for _, e := range c.edits {
		i, err := f.mustFind(e.name)
		if err != nil {
			return nil, err
		}
		lines := f.decls[i].text + "\n"
		if n := strings.Count(lines, e.old); n != 1 || e.old == "" {
			return nil, fmt.Errorf("%s is not what the step was written for: the lines to change occur %d times, want once:\n%s", e.name, n, e.old)
		}
		f.decls[i].text = strings.TrimSuffix(strings.Replace(lines, e.old, e.new, 1), "\n")
	}
	for i, d := range step.decls {
		if f.find(d.name) >= 0 {
			return nil, fmt.Errorf("%s is already declared", d.name)
		}
		at, after := len(f.decls), c.after[d.name]
		if after == "" && i > 0 {
			after = step.decls[i-1].name
		}
		if after != "" {
			if at, err = f.mustFind(after); err != nil {
				return nil, err
			}
			at++
		}
		if at > 0 {
			f.decls[at-1].gap = "\n\n"
		}
		d.gap = "\n\n"
		f.decls = slices.Insert(f.decls, at, d)
	}
	text = []byte(f.head)
	for _, d := range f.decls {
		text = append(text, d.text+d.gap...)
	}
	return arrangeImports(name, text, step.syntax.Imports, used)
}

// arrangeImports adds imports to a file. It removes the imports that the file
// used before and does not use any more.
func arrangeImports(name string, text []byte, added []*ast.ImportSpec, used map[string]bool) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, spec := range added {
		alias := ""
		if spec.Name != nil {
			alias = spec.Name.Name
		}
		astutil.AddNamedImport(fset, f, alias, unquoted(spec))
		delete(used, spec.Path.Value)
	}
	for quoted := range used {
		if p, _ := strconv.Unquote(quoted); used[quoted] && !astutil.UsesImport(f, p) {
			astutil.DeleteImport(fset, f, p)
		}
	}
	var b bytes.Buffer
	err = format.Node(&b, fset, f)
	return b.Bytes(), err
}

func unquoted(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}

// A goFile is a Go file in pieces, which together are its text.
type goFile struct {
	syntax *ast.File
	head   string // the text before the first declaration that is not an import
	decls  []declaration
}

// A declaration has the text up to the next one's comment.
type declaration struct{ name, text, gap string }

func (f *goFile) find(name string) int {
	return slices.IndexFunc(f.decls, func(d declaration) bool { return d.name == name })
}

// mustFind is find, except that it fails if there is no such declaration.
func (f *goFile) mustFind(name string) (int, error) {
	i := f.find(name)
	if i < 0 {
		return 0, fmt.Errorf("there is no declaration %s", name)
	}
	return i, nil
}

func splitFile(name string, text []byte) (*goFile, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f, end := &goFile{syntax: syntax}, len(text)
	for _, d := range slices.Backward(syntax.Decls) {
		start, name := d.Pos(), ""
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name = d.Name.Name; d.Recv != nil {
				var receiver bytes.Buffer
				if err := format.Node(&receiver, fset, d.Recv.List[0].Type); err != nil {
					return nil, err
				}
				t, _, _ := strings.Cut(receiver.String(), "[") // without type parameters
				name = "(" + t + ")." + name
			}
			if d.Doc != nil {
				start = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			if d.Doc != nil {
				start = d.Doc.Pos()
			}
			for _, spec := range slices.Backward(d.Specs) { // a group has the name of its first
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					name = spec.Name.Name
				case *ast.ValueSpec:
					name = spec.Names[0].Name
				}
			}
		}
		from := fset.Position(start).Offset
		piece := strings.TrimRight(string(text[from:end]), "\n")
		f.decls = append(f.decls, declaration{name, piece, string(text[from+len(piece) : end])})
		end = from
	}
	slices.Reverse(f.decls)
	f.head = string(text[:end])
	return f, nil
}

// stepsName names the first n steps in messages.
func stepsName(n int) string { return fmt.Sprintf("the series for OPA up to step %d", n) }

// A misfit says which file of a tree is not what a step was written for.
type misfit struct {
	path string
	err  error
}

func (m *misfit) Error() string { return m.path + ": " + m.err.Error() }

func (m *misfit) Unwrap() error { return m.err }

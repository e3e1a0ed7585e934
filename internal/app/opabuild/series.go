// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
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

	files    map[string][]byte            // its Go files, by their path in OPA's tree
	replaces map[string]map[string]string // hashes, by path and name of a declaration
	content  string                       // hash of files and replaces
}

// Series returns the steps that bring OPA's own package v1/metrics, of
// [UpstreamVersion], close to the drop-in. Each step needs all steps before it.
func Series() ([]Step, error) {
	folder, err := fs.Sub(upstreamFiles, "_upstream")
	if err != nil {
		return nil, err
	}
	return loadSteps(folder)
}

// UpstreamSource returns the folder in Go's module cache with the OPA that the
// series is written for. It downloads this OPA if necessary.
func UpstreamSource(ctx context.Context) (dir string, err error) {
	src, err := findSource(ctx, UpstreamVersion)
	if err == nil {
		_, _, err = src.fetch(ctx)
	}
	return src.dir, err
}

// AllSteps stands for the number of steps in the series.
const AllSteps = -1

// firstSteps returns the first n steps of the series.
func firstSteps(n int) ([]Step, error) {
	steps, err := Series()
	if err != nil {
		return nil, err
	}
	if n == AllSteps {
		return steps, nil
	}
	if n < 1 || n > len(steps) {
		return nil, fmt.Errorf("there is no step %d: the series for OPA has %d steps", n, len(steps))
	}
	return steps[:n], nil
}

// stepsName names the first n steps in messages.
func stepsName(n int) string { return fmt.Sprintf("the series for OPA up to step %d", n) }

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
		s := Step{Number: i + 1, Name: m[2], files: map[string][]byte{}, replaces: map[string]map[string]string{}}
		if err := s.load(fsys, name); err != nil {
			return nil, fmt.Errorf("step %s: %w", name, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// load reads the step's folder.
func (s *Step) load(fsys fs.FS, folder string) error {
	h := sha256.New()
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
		case name == "replaces.txt":
			for line := range strings.Lines(string(text)) {
				words := strings.Fields(line)
				if len(words) != 3 {
					return fmt.Errorf("replaces.txt: invalid line %q, want PATH NAME HASH", line)
				}
				if s.replaces[words[0]] == nil {
					s.replaces[words[0]] = map[string]string{}
				}
				s.replaces[words[0]][words[1]] = words[2]
			}
		case path.Ext(name) == ".go":
			s.files[name] = text
		default:
			return fmt.Errorf("unknown file %s", name)
		}
		fmt.Fprintf(h, "%q %q\n", name, text)
		s.content = hex.EncodeToString(h.Sum(nil))
		return nil
	})
}

// Paths returns the files of OPA's tree that the step changes or adds, sorted.
func (s Step) Paths() []string {
	paths := map[string]bool{}
	for name := range s.files {
		paths[name] = true
	}
	for name := range s.replaces {
		paths[name] = true
	}
	return slices.Sorted(maps.Keys(paths))
}

// ApplySteps applies steps to the OPA source tree in dir. If a step does not
// find what it was written for, ApplySteps changes nothing and returns an error
// that names the step and the declaration.
func ApplySteps(dir string, steps []Step) error {
	if err := checkTree(dir); err != nil {
		return err
	}
	if err := checkWritable(dir); err != nil {
		return err
	}
	changed, err := changeBySteps(dir, steps)
	if err != nil {
		return err
	}
	return withHint(changed.apply(dir))
}

// checkWritable refuses a folder in Go's module cache, where root can write but
// must not.
func checkWritable(dir string) error {
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o200 == 0 {
		return errors.Join(err, fmt.Errorf("%s is read-only, as in Go's module cache: use a copy or a checkout", dir))
	}
	return nil
}

// changeBySteps returns what the steps change in the OPA source tree in dir.
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
			if version, _ := treeVersion(dir); version != UpstreamVersion[1:] {
				err = fmt.Errorf("%w\nThe series is written for OPA %s, but this OPA is %q", err, UpstreamVersion, version)
			}
			return nil, err
		}
	}
	return changed, nil
}

// apply adds to changed the files that the step changes in the tree with the
// files that changed already has.
func (s Step) apply(tree fs.FS, changed replacement) error {
	for _, name := range s.Paths() {
		text, ok := changed[name]
		if !ok {
			var err error
			if text, err = fs.ReadFile(tree, name); errors.Is(err, fs.ErrNotExist) && s.replaces[name] == nil {
				changed[name] = withOPAHeader(s.files[name]) // a new file
				continue
			} else if err != nil {
				return err
			}
		}
		text, err := mergeFile(name, text, s.files[name], s.replaces[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		changed[name] = text
	}
	return nil
}

// mergeFile puts the declarations of a step's file, which may be nil, into a
// file of OPA's. A declaration in replaces takes the place of OPA's, and one
// that the step's file lacks is removed. Any other declaration is new. It
// follows its predecessor in the step's file or precedes its successor there.
func mergeFile(name string, theirs, ours []byte, replaces map[string]string) ([]byte, error) {
	f, err := splitFile(name, theirs)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{} // imports
	for _, spec := range f.syntax.Imports {
		used[spec.Path.Value] = astutil.UsesImport(f.syntax, unquoted(spec))
	}
	step := &goFile{syntax: &ast.File{}}
	if ours != nil {
		if step, err = splitFile(name, ours); err != nil {
			return nil, err
		}
	}
	for what, want := range replaces {
		i := f.find(what)
		if i < 0 {
			return nil, fmt.Errorf("there is no declaration %s", what)
		}
		if hash := f.decls[i].hash(); hash != want {
			return nil, fmt.Errorf("%s is not what the step was written for: its hash is %s, want %s", what, hash, want)
		}
		if j := step.find(what); j >= 0 {
			f.decls[i].text = step.decls[j].text
		} else {
			f.decls = slices.Delete(f.decls, i, i+1)
		}
	}
	for i, d := range step.decls {
		if replaces[d.name] != "" {
			continue
		}
		if f.find(d.name) >= 0 {
			return nil, fmt.Errorf("%s is already declared", d.name)
		}
		at := len(f.decls)
		if i > 0 {
			at = f.find(step.decls[i-1].name) + 1
		} else if next := slices.IndexFunc(step.decls, func(d declaration) bool { return f.find(d.name) >= 0 }); next >= 0 {
			at = f.find(step.decls[next].name)
		}
		if at > 0 {
			f.decls[at-1].gap = "\n\n"
		}
		d.gap = "\n\n"
		f.decls = slices.Insert(f.decls, at, d)
	}
	text := []byte(f.head)
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

// hash identifies the text of a declaration.
func (d declaration) hash() string {
	h := sha256.Sum256([]byte(d.text))
	return hex.EncodeToString(h[:])[:12]
}

func (f *goFile) find(name string) int {
	return slices.IndexFunc(f.decls, func(d declaration) bool { return d.name == name })
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

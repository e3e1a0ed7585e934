// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/outfile"
)

// An overlay says, in the form of go build's flag -overlay, which files the go
// command takes for others. "" is that there is no such file.
type overlay struct{ Replace map[string]string }

// overlay returns the user's own overlay, or an empty one, and in it what puts
// the patched copy into the vendor folder, if the program has one.
func (pr *program) overlay(copied string) (*overlay, error) {
	o := &overlay{Replace: map[string]string{}}
	abs := func(name string) string {
		if name != "" && !filepath.IsAbs(name) {
			name = filepath.Join(pr.dir, name)
		}
		return name
	}
	if file := pr.flags.overlay; file != "" {
		var theirs overlay
		text, err := os.ReadFile(abs(file))
		if err == nil {
			err = json.Unmarshal(text, &theirs)
		}
		if err != nil {
			return nil, fmt.Errorf("the flag -overlay: %w", err)
		}
		for name, to := range theirs.Replace {
			o.Replace[abs(name)] = abs(to)
		}
	}
	if pr.vendor == "" {
		return o, nil
	}
	for _, folder := range []string{metricsDir, filepath.FromSlash(runtimeDir)} {
		if err := o.addDifferences(filepath.Join(pr.opaDir, folder), filepath.Join(copied, folder)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// addDifferences puts the Go files of one folder in the place of those of
// another.
func (o *overlay) addDifferences(theirs, ours string) error {
	files := map[string]bool{} // by name: whether ours has it
	for _, dir := range []string{theirs, ours} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, name := range names {
			files[filepath.Base(name)] = dir == ours
		}
	}
	for name, here := range files {
		if !here {
			if err := o.add(filepath.Join(theirs, name), ""); err != nil {
				return err
			}
			continue
		}
		old, err := os.ReadFile(filepath.Join(theirs, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text, err2 := os.ReadFile(filepath.Join(ours, name))
		if err2 != nil {
			return err2
		}
		if err != nil || !bytes.Equal(old, text) {
			if err := o.add(filepath.Join(theirs, name), filepath.Join(ours, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add puts a file in the place of another, which the user's overlay must not
// replace too.
func (o *overlay) add(name, by string) error {
	if theirs, ok := o.Replace[name]; ok && theirs != by {
		return fmt.Errorf("the flag -overlay replaces %s, which has to be replaced by Regometer's: take it out there", name)
	}
	o.Replace[name] = by
	return nil
}

func (o *overlay) file(work string) string { return filepath.Join(work, "overlay.json") }

func (o *overlay) write(work string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return outfile.Write(o.file(work), text)
}

// addFile adds a file of ours to the main package, written to the folder work
// and changed by edit, if that is not nil.
func (m mainPackage) addFile(o *overlay, work string, r record, name string, edit func([]byte) ([]byte, error)) error {
	if slices.Contains(m.GoFiles, name) {
		return fmt.Errorf("%s holds a file %s, which is the name of one that is put there: rename it", m.Dir, name)
	}
	if err := r.writeTemplate(work, name); err != nil {
		return err
	}
	file := filepath.Join(work, name)
	if edit != nil {
		text, err := os.ReadFile(file)
		if err == nil {
			text, err = edit(text)
		}
		if err == nil {
			err = outfile.Write(file, text)
		}
		if err != nil {
			return err
		}
	}
	return o.add(filepath.Join(m.Dir, name), file)
}

// pluginPlace is the folder, in that of the main package, in which the
// plugin's packages are.
const pluginPlace = "internal/regometer"

// addPlugin adds the plugin to the overlay, unless the program's modules lack
// what it imports: then it is left out of the record, with a warning.
func (pr *program) addPlugin(ctx context.Context, s side, m mainPackage, p *plugin, r *record, o *overlay, work string) error {
	src, err := p.local(ctx)
	if err != nil {
		return err
	}
	prefix := path.Join(m.ImportPath, pluginPlace)
	without := maps.Clone(o.Replace)
	for _, folder := range pluginFolders {
		files, err := filepath.Glob(filepath.Join(src.folder(folder), "*.go"))
		if err != nil {
			return err
		}
		to := filepath.Join(work, "plugin", filepath.FromSlash(folder))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		for _, file := range files {
			name := filepath.Base(file)
			if isTest(name) {
				continue
			}
			text, err := os.ReadFile(file)
			if err == nil {
				text, err = ownPackage(text, prefix, src.language)
			}
			if err == nil {
				err = outfile.Write(filepath.Join(to, name), text)
			}
			if err == nil {
				err = o.add(filepath.Join(m.Dir, filepath.FromSlash(pluginPlace), filepath.FromSlash(folder), name), filepath.Join(to, name))
			}
			if err != nil {
				return err
			}
		}
	}
	if err := m.addFile(o, work, *r, pluginFile, func(text []byte) ([]byte, error) { return ownPackage(text, prefix, src.language) }); err != nil {
		return err
	}
	if err := o.write(work); err != nil {
		return err
	}
	out, err := s.command("list", slices.Concat(pr.flags.list(), []string{"-e", "-deps", "-f", "{{if .Error}}{{.ImportPath}}{{end}}", m.ImportPath})...).Output(ctx)
	if err != nil {
		return err
	}
	if lacking := strings.Fields(string(out)); len(lacking) > 0 {
		pr.progress.printf("warning: without the plugin, which imports packages that the program's modules lack: %s", strings.Join(lacking, ", "))
		if pr.vendor != "" {
			pr.progress.printf("warning: import them in the program and run go mod vendor, or build without the vendor folder: -- -mod=mod")
		}
		o.Replace, r.Plugin, r.Hook = without, false, false
	}
	return nil
}

// ownPackage returns the text of a file of ours as that of a package of the
// program's own: what it imports of ours is below prefix, and the language is
// that of our modules, such as "go1.25", whatever the program's go.mod says.
func ownPackage(text []byte, prefix, language string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution|parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	replace := func(n ast.Node, by string) {
		text = slices.Concat(text[:fset.Position(n.Pos()).Offset], []byte(by), text[fset.Position(n.End()).Offset:])
	}
	for _, i := range slices.Backward(f.Imports) { // so that the positions hold
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(name, ourModule+"/"); ok {
			replace(i.Path, strconv.Quote(path.Join(prefix, rest)))
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				expr, err := constraint.Parse(c.Text)
				if err != nil {
					return nil, err
				}
				both := constraint.AndExpr{X: expr, Y: &constraint.TagExpr{Tag: language}}
				replace(c, "//go:build "+both.String())
				return text, nil
			}
		}
	}
	return slices.Concat([]byte("//go:build "+language+"\n\n"), text), nil
}

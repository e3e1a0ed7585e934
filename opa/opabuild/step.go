// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Step is one change of the series for OPA: what a maintainer would review as
// one commit. The folder _upstream holds them, and tells of their form.
type Step struct {
	Number int    // from 1
	Name   string // of its folder, without the number
	Title  string // the commit's subject
	Body   string // the rest of its message

	changes []change
	files   map[string][]byte // its Go files, by their path in OPA's tree
	content string            // identifies changes and files
}

// A change is a line of a step's list.
type change struct {
	line  int
	verb  string // "add", "extend", "replace" or "remove"
	path  string // in OPA's tree
	name  string // of the declaration; "" for a whole file
	after string // the declaration to put an added one behind; "" for the file's end
	hash  string // of the declaration that goes, see hashOfDecl
}

// Paths returns the files of OPA's tree that the step changes or adds, sorted.
func (s Step) Paths() []string {
	paths := map[string]bool{}
	for _, c := range s.changes {
		paths[c.path] = true
	}
	return slices.Sorted(maps.Keys(paths))
}

// errorf returns an error that names the step.
func (s Step) errorf(format string, args ...any) error {
	return fmt.Errorf("step %d (%s): %w", s.Number, s.Name, fmt.Errorf(format, args...))
}

var stepFolder = regexp.MustCompile(`^(\d\d)-([a-z0-9]+(?:-[a-z0-9]+)*)$`)

// loadSteps returns the steps whose folders are in fsys, in their order.
func loadSteps(fsys fs.FS) ([]Step, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		m := stepFolder.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("the step %s: its name is no number and words, such as 01-first-step", e.Name())
		}
		s := Step{Name: m[2]}
		if s.Number, _ = strconv.Atoi(m[1]); s.Number != len(steps)+1 {
			return nil, s.errorf("step %d was expected here", len(steps)+1)
		}
		folder, err := fs.Sub(fsys, e.Name())
		if err == nil {
			err = s.load(folder)
		}
		if err != nil {
			return nil, s.errorf("%w", err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// load reads the step's folder.
func (s *Step) load(folder fs.FS) error {
	h := sha256.New()
	s.files = map[string][]byte{}
	var message, list []byte
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		switch {
		case err != nil:
			return err
		case name == "text.md":
			message = text
			return nil // what it says changes no binary
		case name == "changes":
			list = text
		case path.Ext(name) == ".go":
			s.files[name] = text
		default:
			return fmt.Errorf("%s is neither text.md, nor changes, nor a Go file", name)
		}
		fmt.Fprintf(h, "%q %q\n", name, text)
		return nil
	})
	if err != nil {
		return err
	}
	s.content = hex.EncodeToString(h.Sum(nil))
	if err := s.readMessage(message); err != nil {
		return fmt.Errorf("text.md: %w", err)
	}
	if s.changes, err = readChanges(list); err != nil {
		return fmt.Errorf("changes:%w", err)
	}
	return s.checkFiles()
}

// patchLine matches what `git am` would take for the message's end.
var patchLine = regexp.MustCompile(`(?m)^(---|diff -|Index: )`)

func (s *Step) readMessage(text []byte) error {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	title, body, _ := strings.Cut(string(text), "\n")
	s.Title, s.Body = strings.TrimSpace(title), strings.TrimSpace(body)
	switch {
	case s.Title == "":
		return errors.New("the first line is to be the commit's subject")
	case body != "" && !strings.HasPrefix(body, "\n"):
		return errors.New("the second line is to be empty")
	case patchLine.MatchString(s.Body):
		return fmt.Errorf("git would take the line that begins with %q for the message's end", patchLine.FindString(s.Body))
	}
	return nil
}

func readChanges(text []byte) ([]change, error) {
	var changes []change
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		c := change{line: number, verb: words[0]}
		ok := false
		switch c.verb {
		case "replace", "remove": // without the hash too, which is then refused
			if ok = len(words) == 3 || len(words) == 4; ok {
				c.path, c.name, c.hash = words[1], words[2], strings.Join(words[3:], "")
			}
		case "extend":
			if ok = len(words) == 3; ok {
				c.path, c.name = words[1], words[2]
			}
		case "add":
			if ok = len(words) == 2 || len(words) == 3 || len(words) == 5 && words[3] == "after"; ok {
				c.path, c.name = words[1], strings.Join(words[2:min(3, len(words))], "")
			}
			if ok && len(words) == 5 {
				c.after = words[4]
			}
		}
		if !ok {
			return nil, fmt.Errorf("%d: not of the form replace PATH NAME HASH, remove PATH NAME HASH, extend PATH NAME, add PATH NAME [after NAME] or add PATH", number)
		}
		if !fs.ValidPath(c.path) || path.Ext(c.path) != ".go" {
			return nil, fmt.Errorf("%d: %s is no path of a Go file", number, c.path)
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return nil, errors.New(" none")
	}
	return changes, nil
}

// checkFiles makes sure that the list of changes and the Go files tell of the
// same declarations.
func (s *Step) checkFiles() error {
	listed := map[string]map[string]change{} // by path, by declaration
	for _, c := range s.changes {
		if listed[c.path] == nil {
			listed[c.path] = map[string]change{}
		}
		_, twice := listed[c.path][c.name]
		_, whole := listed[c.path][""]
		if twice || whole || c.name == "" && len(listed[c.path]) > 0 {
			return fmt.Errorf("changes:%d: %s %s is listed already", c.line, c.path, c.name)
		}
		listed[c.path][c.name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		f, err := parseFile(name, s.files[name])
		if err != nil {
			return err
		}
		if _, whole := listed[name][""]; whole {
			delete(listed, name)
			continue
		}
		if err := f.checkStray(); err != nil {
			return err
		}
		for _, d := range f.decls {
			c, ok := listed[name][d.name]
			if !ok || c.verb == "remove" {
				return fmt.Errorf("%s declares %s, which the changes do not put there", name, d.name)
			}
			delete(listed[name], d.name)
		}
	}
	for _, c := range s.changes {
		if _, left := listed[c.path][c.name]; left && c.verb != "remove" {
			return fmt.Errorf("changes:%d: %s %s %s, but the step's files do not have it", c.line, c.verb, c.path, c.name)
		}
	}
	return nil
}

// apply returns what becomes of the files that the step changes. read returns
// those of OPA's tree as they are before.
func (s Step) apply(read func(name string) ([]byte, error)) (replacement, error) {
	r := replacement{}
	for _, name := range s.Paths() {
		text, err := s.applyTo(name, read)
		if err != nil {
			return nil, s.errorf("%s: %w", name, err)
		}
		r[name] = text
	}
	return r, nil
}

func (s Step) applyTo(name string, read func(name string) ([]byte, error)) ([]byte, error) {
	whole := slices.ContainsFunc(s.changes, func(c change) bool { return c.path == name && c.name == "" })
	text, err := read(name)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case whole && isNew:
		return formatGo(name, withOPAHeader(s.files[name]))
	case whole && err == nil:
		return nil, errors.New("no file to add: it is there already")
	case isNew:
		return nil, errors.New("there is no such file")
	case err != nil:
		return nil, err
	}
	f, err := parseFile(name, text)
	if err != nil {
		return nil, err
	}
	var ours *goFile // nil if the step only removes
	if s.files[name] != nil {
		if ours, err = parseFile(name, s.files[name]); err != nil {
			return nil, err
		}
		if is, want := ours.syntax.Name.Name, f.syntax.Name.Name; is != want {
			return nil, fmt.Errorf("is of package %s, the step's file of package %s", want, is)
		}
	}
	for _, c := range s.changes {
		if c.path != name {
			continue
		}
		if err := f.change(c, ours); err != nil {
			return nil, err
		}
	}
	return f.finish(ours)
}

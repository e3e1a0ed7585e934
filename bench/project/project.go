// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package project knows the modules of this repository and how they are
// released. Its tests check the rules that the repository keeps.
package project

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

// A Module is one of the modules that go.work lists.
type Module struct {
	Path string        // such as github.com/regometer/regometer/opa
	Dir  string        // below the repository's root, "." for the root module
	File *modfile.File // its go.mod
}

// Modules returns the modules of the repository at root. Each module comes
// after the modules that it requires.
func Modules(root string) (ordered []Module, err error) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	byPath := map[string]Module{}
	for _, use := range work.Use {
		name := filepath.Join(root, use.Path, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			return nil, err
		}
		byPath[file.Module.Mod.Path] = Module{file.Module.Mod.Path, filepath.ToSlash(filepath.Clean(use.Path)), file}
	}
	var add func(path string)
	add = func(path string) {
		m, waits := byPath[path]
		if !waits {
			return
		}
		delete(byPath, path)
		for _, r := range m.File.Require {
			add(r.Mod.Path)
		}
		ordered = append(ordered, m)
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		add(path)
	}
	return ordered, nil
}

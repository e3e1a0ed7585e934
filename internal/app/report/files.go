// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// standardInput is the name of standard input.
const standardInput = "-"

// A file is an input that is read.
type file struct {
	name string // as it is shown
	info fs.FileInfo
}

// findFiles returns the files that inputs name, each once, in the order of
// their names. In folders, names that begin with a dot are left out.
func findFiles(inputs []string) (files []file, stdin bool, err error) {
	var names []string
	for _, input := range inputs {
		if input == standardInput {
			stdin = true
			continue
		}
		found, err := expand(input)
		if err != nil {
			return nil, false, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	seen := map[int64][]fs.FileInfo{} // by size
	for _, name := range names {
		info, err := os.Stat(name) // what a link points to
		if err != nil {
			return nil, false, err
		}
		if slices.ContainsFunc(seen[info.Size()], func(o fs.FileInfo) bool { return os.SameFile(info, o) }) {
			continue
		}
		seen[info.Size()] = append(seen[info.Size()], info)
		files = append(files, file{name, info})
	}
	if len(files) == 0 && !stdin {
		return nil, false, fmt.Errorf("there is no file in %s", strings.Join(inputs, ", "))
	}
	return files, stdin, nil
}

// expand returns the names of the files that an input stands for.
func expand(input string) ([]string, error) {
	info, err := os.Stat(input)
	switch {
	case err == nil && info.IsDir():
		return inFolder(input)
	case err == nil:
		return []string{input}, nil
	case !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(input, "*?["):
		return nil, err
	}
	found, err := filepath.Glob(input)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", input, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no file matches", input)
	}
	var names []string
	for _, name := range found {
		more, err := expand(name)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

// inFolder returns the regular files in a folder and its subfolders, and those
// that links in it point to. It does not follow links to folders.
func inFolder(folder string) (names []string, err error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.Join(folder, below)
		switch {
		case path != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case strings.HasSuffix(name, samplelog.TruthSuffix):
		case entry.Type().IsRegular():
			names = append(names, name)
		case entry.Type()&fs.ModeSymlink != 0:
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// InputFiles returns the names of the files that [Read] reads, each once, and
// "-" for standard input.
func InputFiles(inputs []string) (names []string, err error) {
	files, stdin, err := findFiles(inputs)
	for _, f := range files {
		names = append(names, f.name)
	}
	if stdin {
		names = append(names, standardInput)
	}
	return names, err
}

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

// InputFiles returns the names of the files that [Read] reads, each once, in
// the order of the names, and then "-" for standard input. It leaves out names
// in folders that begin with a dot. It fails if a file does not exist, or if
// there is none.
func InputFiles(inputs []string) (files []string, err error) {
	var names, stdin []string
	for _, input := range inputs {
		if input == standardInput {
			stdin = []string{standardInput}
			continue
		}
		found, err := expand(input)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	if files, err = unique(names); err != nil {
		return nil, err
	}
	if files = append(files, stdin...); len(files) == 0 {
		return nil, fmt.Errorf("there is no file in %s", strings.Join(inputs, ", "))
	}
	return files, nil
}

// unique returns the first name of each file. It fails if a file does not
// exist.
func unique(names []string) (files []string, err error) {
	seen := map[int64][]fs.FileInfo{} // by size
	for _, name := range names {
		info, err := os.Stat(name) // of the file that a link points to
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(seen[info.Size()], func(o fs.FileInfo) bool { return os.SameFile(info, o) }) {
			seen[info.Size()] = append(seen[info.Size()], info)
			files = append(files, name)
		}
	}
	return files, nil
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
	// The separator makes WalkDir follow a link to the folder.
	root := folder + string(filepath.Separator)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case !strings.HasSuffix(path, samplelog.TruthSuffix):
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				names = append(names, filepath.Clean(path))
			}
		}
		return nil
	})
	return names, err
}

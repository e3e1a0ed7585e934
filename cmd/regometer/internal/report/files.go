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
)

// standardInput is the name of standard input.
const standardInput = "-"

// An InputFile is a file to read, or standard input.
type InputFile struct {
	Name string      // "-" for standard input
	Info fs.FileInfo // of the file that a link points to; nil for standard input
}

// isRegular reports whether f is a regular file.
func (f *InputFile) isRegular() bool { return f.Info != nil && f.Info.Mode().IsRegular() }

// ErrNoFile is the error of inputs that are empty folders.
var ErrNoFile = errors.New("there is no file")

// InputFiles returns the files that [Read] reads, each once, in the order of
// the names, and then standard input. It leaves out names in folders that begin
// with a dot. It fails if a file does not exist, or with [ErrNoFile].
//
// It asks the system only once about each file, because small files are many.
func InputFiles(inputs []string) (files []InputFile, err error) {
	var stdin []InputFile
	for _, input := range inputs {
		if input == standardInput {
			stdin = []InputFile{{Name: standardInput}}
			continue
		}
		info, err := os.Stat(input)
		found := []InputFile{{input, info}}
		if err == nil && info.IsDir() {
			found, err = inFolder(input)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.SortStableFunc(files, func(a, b InputFile) int { return strings.Compare(a.Name, b.Name) })
	if files = append(unique(files), stdin...); len(files) == 0 {
		return nil, fmt.Errorf("%w in %s", ErrNoFile, strings.Join(inputs, ", "))
	}
	return files, nil
}

// unique keeps the first name of each file.
func unique(files []InputFile) []InputFile {
	seen := map[[2]int64][]fs.FileInfo{} // by size and time, to compare fewer
	return slices.DeleteFunc(files, func(f InputFile) bool {
		key := [2]int64{f.Info.Size(), f.Info.ModTime().UnixNano()}
		isSeen := slices.ContainsFunc(seen[key], func(o fs.FileInfo) bool { return os.SameFile(f.Info, o) })
		if !isSeen {
			seen[key] = append(seen[key], f.Info)
		}
		return isSeen
	})
}

// inFolder returns the regular files in a folder and its subfolders, those that
// links in it point to, and the links that point to nothing. It does not follow
// links to folders.
func inFolder(folder string) (files []InputFile, err error) {
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
		default:
			info, err := os.Stat(path)
			if err != nil {
				info, err = entry.Info()
			}
			if err == nil && info.Mode()&(fs.ModeType&^fs.ModeSymlink) == 0 {
				files = append(files, InputFile{filepath.Clean(path), info})
			}
		}
		return nil
	})
	return files, err
}

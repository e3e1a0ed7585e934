// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// loadFiles reads the modules of Rego files, folders and bundles.
func loadFiles(paths []string) (modules, error) {
	all := modules{}
	err := forEachFile(paths, func(name string, file *os.File) error {
		text, err := readAtMost(file, maxRules)
		if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			if _, err = file.Seek(0, io.SeekStart); err == nil {
				err = readBundle(all, name, file)
			}
		} else if err == nil {
			err = all.parse(name, text)
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there are no Rego files in %s", strings.Join(paths, ", "))
	}
	return all, err
}

// Version returns a hash of the names and contents of the files at paths, and
// the error if one cannot be read.
func Version(paths []string) string {
	hash := sha256.New()
	err := forEachFile(paths, func(name string, file *os.File) error {
		fmt.Fprintf(hash, "\n%q\n", name)
		_, err := io.Copy(hash, file)
		return err
	})
	return fmt.Sprintf("%x %v", hash.Sum(nil), err)
}

// forEachFile calls f with the files that paths name, and the Rego files in
// folders that paths name. It follows links, but calls f only once with a file
// or folder to which several lead.
func forEachFile(paths []string, f func(name string, file *os.File) error) error {
	seen := map[string]bool{}
	var visit func(name string, named bool) error
	visit = func(name string, named bool) error {
		target, err := filepath.EvalSymlinks(name)
		if err != nil || seen[target] {
			return err
		}
		info, err := os.Stat(target)
		switch {
		case err != nil || !named && !info.IsDir() && !strings.HasSuffix(name, ".rego"):
			return err
		case !info.IsDir() && !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		seen[target] = true
		file, err := os.Open(target)
		if err != nil {
			return err
		}
		defer file.Close()
		if !info.IsDir() {
			return f(name, file)
		}
		entries, err := os.ReadDir(target)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "..") {
				continue // Kubernetes mounts the files of a ConfigMap there, and links to them
			}
			if err := visit(filepath.Join(name, e.Name()), false); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return err
	}
	for _, path := range paths {
		if err := visit(path, true); err != nil {
			return err
		}
	}
	return nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fileSource returns a source of Rego files, folders and bundles. Their version
// is a hash of their contents, and of the times and sizes of data in folders,
// which only a profile needs.
func fileSource(name string, paths ...string) *source {
	read := func(_ context.Context, version string) (modules, string, error) {
		hash := sha256.New()
		err := forEachFile(paths, func(name string, file *os.File) error {
			info, err := file.Stat()
			if err == nil && isData(name) {
				_, err = fmt.Fprintln(hash, name, info.Size(), info.ModTime())
			} else if err == nil {
				_, err = io.Copy(hash, file)
			}
			return err
		})
		now, m := string(hash.Sum(nil)), modules{} // the files may change now, and are read again then
		if err != nil || now == version {
			return nil, "", err
		}
		err = forEachFile(paths, func(name string, file *os.File) error {
			if isData(name) {
				return nil
			}
			text, err := readAtMost(file, maxRules)
			if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
				if _, err = file.Seek(0, io.SeekStart); err == nil {
					err = readBundle(m, name, file)
				}
			} else if err == nil {
				err = m.parse(name, text)
			}
			return err
		})
		if err == nil && len(m) == 0 {
			err = fmt.Errorf("there are no Rego files in %s", strings.Join(paths, ", "))
		}
		return m, now, err
	}
	return &source{name: name, min: reread, max: reread, read: read}
}

// isData reports whether a file has data of a policy.
func isData(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(name))
}

// forEachFile calls f with the files that paths name, and the files of Rego and
// data in folders that paths name. It follows links, but calls f only once with a file
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
		case err != nil || !named && !info.IsDir() && !strings.HasSuffix(name, ".rego") && !isData(name):
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

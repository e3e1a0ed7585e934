// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"
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

// A source is files, or a bundle of a server.
type source struct {
	name     string        // a label
	min, max time.Duration // between two reads
	// read returns the modules and their version. It returns no modules if they
	// still have the given version, which is "" at first.
	read func(ctx context.Context, version string) (m modules, now string, err error)
	// open returns the content of a bundle and its version. It returns no content
	// if the bundle still has the given version.
	open func(ctx context.Context, version string) (content io.ReadCloser, now string, err error)

	modules  modules
	version  string
	failures int    // since the last success
	failure  string // of the last read, without numbers such as ports
}

// wait returns the time until the next read.
func (s *source) wait() time.Duration {
	if s.failures > 0 {
		return util.DefaultBackoff(float64(time.Second), float64(s.max), s.failures)
	}
	return s.min + rand.N(s.max-s.min+1)
}

// modules are parts of a policy, by name. Sources have different names, unless
// they have the same file.
type modules map[string]*ast.Module

// parse adds a module in Rego v1 or v0. It leaves annotations in comments,
// because only new releases of OPA refuse wrong ones.
func (m modules) parse(name string, text []byte) error {
	module, err := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		if old, second := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{RegoVersion: ast.RegoV0}); second == nil {
			module, err = old, nil
		}
	}
	m[name] = module
	return err
}

const (
	// maxUnpacked limits a bundle after unpacking, in bytes.
	maxUnpacked = 1 << 30
	// maxRules limits the Rego files of a bundle, in bytes, with fileCost for
	// each. In use, 1 MiB of rules needs 80 to 200 MiB of memory.
	maxRules = 4 << 20
	fileCost = 512
)

// readBundle adds the modules of a bundle. It keeps no data in memory, and does
// not check signatures, because the rules only name paths.
func readBundle(m modules, name string, from io.Reader) error {
	unzip, err := gzip.NewReader(from)
	if err != nil {
		return fmt.Errorf("%s is not a bundle: %w", name, err)
	}
	unpacked := &io.LimitedReader{R: unzip, N: maxUnpacked}
	files := tar.NewReader(unpacked)
	for rest := int64(maxRules); ; {
		header, err := files.Next()
		switch {
		case unpacked.N == 0:
			return fmt.Errorf("%s has more than %d bytes after unpacking", name, maxUnpacked)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case path.Base(header.Name) == "patch.json":
			return fmt.Errorf("%s is a delta bundle, which has no rules: name a snapshot bundle", name)
		case header.Typeflag != tar.TypeReg || path.Ext(header.Name) != ".rego":
			continue
		}
		text, err := readAtMost(files, rest)
		if err == nil {
			err = m.parse(name+"/"+header.Name, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rest -= int64(len(text)) + fileCost
	}
}

// readAtMost reads a text of at most limit bytes.
func readAtMost(from io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(text)) > limit {
		err = errors.New("there are more than 4 MiB of rules: name the important paths in plugins.regometer.paths.allow of --config, and leave this source out")
	}
	return text, err
}

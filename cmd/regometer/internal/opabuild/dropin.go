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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regometer/regometer"
	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
)

// A dropIn has the texts of the files that replace OPA's, by file name.
type dropIn map[string][]byte

// loadDropIn returns the files of package metrics, with its tests, that are
// embedded in this program.
func loadDropIn() dropIn {
	d := dropIn{}
	names, _ := fs.Glob(regometer.Files, "metrics/*.go") // the pattern is valid
	for _, name := range names {
		d[path.Base(name)], _ = regometer.Files.ReadFile(name) // it is in memory
	}
	return d
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func (d dropIn) withoutTests() dropIn {
	d = maps.Clone(d)
	maps.DeleteFunc(d, func(name string, _ []byte) bool { return isTest(name) })
	return d
}

// hash identifies the drop-in's content.
func (d dropIn) hash() string { return hashAll(map[string][]byte(d)) }

// DropInHash returns the SHA-256 of the drop-in that this program carries, in
// hexadecimal digits.
func DropInHash() string { return loadDropIn().withoutTests().hash() }

// goFiles returns the texts of a folder's Go files by name.
func goFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// A replacement has the new texts of files by slash path. nil removes a file.
type replacement map[string][]byte

// replace returns what puts the drop-in in place of the Go files of OPA's
// v1/metrics.
//
// It removes all Go files except tests, and adds the drop-in's files. It also
// removes the test of a removed file (sample_test.go for sample.go), because it
// tests unexported names. It keeps metrics_test.go and OPA's other tests, which
// test the package from the outside and so judge the drop-in.
func (d dropIn) replace(files map[string][]byte) replacement {
	r := replacement{}
	for name, text := range files {
		if isTest(name) || bytes.Equal(d[name], text) {
			continue
		}
		r[name] = nil
		if test := strings.TrimSuffix(name, ".go") + "_test.go"; name != "metrics.go" && files[test] != nil {
			r[test] = nil
		}
	}
	for name, text := range d {
		if !bytes.Equal(files[name], text) {
			r[name] = text
		}
	}
	return r
}

// in returns the replacement with the paths relative to the parent of folder.
func (r replacement) in(folder string) replacement {
	moved := replacement{}
	for name, text := range r {
		moved[path.Join(folder, name)] = text
	}
	return moved
}

// apply changes the files in dir. Every file appears whole or not at all, and
// none through a link out of dir.
func (r replacement) apply(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(r)) {
		file := filepath.FromSlash(name)
		if r[name] == nil {
			if err = root.Remove(file); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		} else if err = root.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = outfile.Write(filepath.Join(dir, file), r[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hashAll returns a hash of values.
func hashAll(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		fmt.Fprintf(h, "%q\n", v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

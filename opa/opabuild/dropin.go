// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regometer/regometer"
	"github.com/regometer/regometer/internal/outfile"
)

// A dropIn is the text of the files that replace OPA's, by file name.
type dropIn map[string][]byte

// loadDropIn returns the package metrics that is compiled into this program,
// without its tests.
func loadDropIn() (dropIn, error) {
	d, err := loadFiles()
	return d.withoutTests(), err
}

// loadFiles returns all files of the package, as they are.
func loadFiles() (dropIn, error) {
	d := dropIn{}
	names, err := fs.Glob(regometer.DropIn, "metrics/*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := regometer.DropIn.ReadFile(name)
		if err != nil {
			return nil, err
		}
		d[path.Base(name)] = text
	}
	return d, nil
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func (d dropIn) withoutTests() dropIn {
	d = maps.Clone(d)
	maps.DeleteFunc(d, func(name string, _ []byte) bool { return isTest(name) })
	return d
}

// hash identifies the drop-in's content.
func (d dropIn) hash() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintf(h, "%s %d\n", name, len(d[name]))
		h.Write(d[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// DropInHash returns the SHA-256 of the drop-in that this program carries, in
// hexadecimal digits.
func DropInHash() (string, error) {
	d, err := loadDropIn()
	if err != nil {
		return "", err
	}
	return d.hash(), nil
}

// A replacement says what becomes of each file of OPA's v1/metrics that
// changes, by file name: its text, or nil if it leaves.
type replacement map[string][]byte

// plan works out how the drop-in replaces the package in dir, OPA's
// v1/metrics.
//
// All Go files but tests leave and the drop-in's come. A test of one of the
// files that leave (sample_test.go for sample.go) goes with it, for it tests
// unexported names. metrics_test.go and all other tests of OPA's stay: they
// test the package from the outside and are the drop-in's judge.
//
// wrote reports whether a file is an earlier drop-in's; it may be nil.
func (d dropIn) plan(dir string, wrote func(name string, text []byte) bool) (replacement, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	r := replacement{}
	present := map[string]bool{}
	for _, e := range entries {
		present[e.Name()] = e.Type().IsRegular()
	}
	for name := range present {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		if !present[name] {
			return nil, fmt.Errorf("%s is not a regular file", filepath.Join(dir, name))
		}
		old, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if isTest(name) {
			if d[name] == nil && wrote != nil && wrote(name, old) {
				r[name] = nil
			}
			continue
		}
		ours, kept := d[name]
		if kept && string(ours) == string(old) {
			continue
		}
		if !kept {
			r[name] = nil
		}
		if wrote != nil && wrote(name, old) {
			continue // no test of OPA's belongs to it
		}
		test := strings.TrimSuffix(name, ".go") + "_test.go"
		if name != "metrics.go" && present[test] {
			r[test] = nil
		}
	}
	for name, text := range d {
		old, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(old) != string(text) {
			r[name] = text
		}
	}
	return r, nil
}

// apply carries the replacement out in dir. Every file appears whole or not
// at all.
func (r replacement) apply(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		file := filepath.Join(dir, name)
		if r[name] == nil {
			if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		if err := outfile.Write(file, r[name]); err != nil {
			return err
		}
	}
	return nil
}

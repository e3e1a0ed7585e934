// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile matches the names under which licences and what belongs to them
// are found. Files of Go are code, whatever their names.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[sc]e|copying|copyright|notice|patents)s?([.-][\w.-]+)?$`)

// thirdPartyNotices returns the texts of all licences of the components, each
// once, with the files that it is from. dirOf tells the folder of a component's
// source; one without a licence there is an error.
func thirdPartyNotices(components []component, dirOf func(component) (string, error)) ([]byte, error) {
	holders := map[string][]string{} // by text
	for _, c := range components {
		dir, err := dirOf(c)
		if err != nil {
			return nil, err
		}
		texts, err := licences(dir, c.path == standardLibrary)
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s has no licence: there is no file such as LICENSE in %s", c, dir)
		}
		for name, text := range texts {
			holders[text] = append(holders[text], c.String()+": "+name)
		}
	}
	for _, files := range holders {
		slices.Sort(files)
	}
	var out bytes.Buffer
	out.WriteString("The licences of all that is in the program, each after the files that it is from.\n")
	line := strings.Repeat("=", 80)
	byFile := func(a, b string) int { return strings.Compare(holders[a][0], holders[b][0]) }
	for _, text := range slices.SortedFunc(maps.Keys(holders), byFile) {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(holders[text], "\n"), line, text)
	}
	return out.Bytes(), nil
}

// licences returns the texts of the licence files in the folder dir and, unless
// shallow, in those below it, by their paths. Without one in the folder itself
// it returns none.
func licences(dir string, shallow bool) (map[string]string, error) {
	texts := map[string]string{}
	top := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (shallow || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !licenceFile.MatchString(d.Name()) || filepath.Ext(path) == ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		top = top || filepath.Dir(path) == filepath.Clean(dir)
		texts[filepath.ToSlash(name)] = strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		return nil
	})
	if !top {
		clear(texts)
	}
	return texts, err
}

// runtimeRoot returns the folder of the Go that builds, whose standard library
// and runtime are part of each program.
func runtimeRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out)), err
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus counts the paths that clients ask for and that have their own
// label, in policies with the shapes of known public ones. Each policy names
// these paths in its first line. The policies whose names begin alike are on
// one server, with the libraries, and with 60 constants in one of the packages.
// Last, all policies are on one server.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/policies/*.rego")
	if err != nil {
		t.Fatal(err)
	}
	var constants strings.Builder
	for i := range 60 {
		fmt.Fprintf(&constants, "limit_%d := %d\n", i, i)
	}
	const library = "lib"
	modules, asked := map[string][]string{}, map[string][]string{}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		list, ok := strings.CutPrefix(first, "# asked:")
		if !ok {
			t.Fatalf("%s: the first line is %q, want # asked: and paths", file, first)
		}
		server, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".rego"), "_")
		for path := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
			asked[server] = append(asked[server], path)
		}
		all = append(all, string(text))
		if server != library && len(modules[server]) == 0 {
			text = append(text, constants.String()...)
		}
		modules[server] = append(modules[server], string(text))
	}
	count := func(server string, modules []string) (own int) {
		l := newLabels(defaultConfig(), compile(t, modules...))
		for _, path := range asked[server] {
			if got, _ := l.of(path, ""); got.name == path {
				own++
			} else {
				t.Logf("%s: the label of %s is %q", server, path, got.name)
			}
		}
		return own
	}
	n, own, together := 0, 0, 0
	for server, paths := range asked {
		n += len(paths)
		own += count(server, append(modules[server], modules[library]...))
		together += count(server, all)
	}
	t.Logf("Of %d paths, %d have their own label on servers of their own, and %d with all policies on one server.", n, own, together)
	if n < 40 || 100*own < 95*n {
		t.Errorf("on servers of their own, %d of %d paths have their own label, want 95 %% of 40 or more", own, n)
	}
	if 100*together < 80*n {
		t.Errorf("on one server, %d of %d paths have their own label, want 80 %%", together, n)
	}
}

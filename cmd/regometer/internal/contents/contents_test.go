// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A program has modules of all kinds, whose folders have licences of all kinds.
func TestNotices(t *testing.T) {
	sources := t.TempDir()
	if err := os.CopyFS(sources, fstest.MapFS{
		"a.b/fork/LICENSE":          {Data: []byte("Licence A\r\nof two lines\r\n")},
		"a.b/fork/license.go":       {Data: []byte("package fork")},
		"a.b/fork/sub/COPYING":      {Data: []byte("Licence B")},
		"a.b/fork/testdata/LICENSE": {Data: []byte("of test data")},
		"a.b/old/LICENCE.md":        {Data: []byte("\nLicence A\nof two lines")},
		opaModule + "/NOTICE.txt":   {Data: []byte("Notice of OPA")},
		"std/LICENSE":               {Data: []byte("Go's")},
		"std/src/vendor/LICENSE":    {Data: []byte("vendored")},
	}); err != nil {
		t.Fatal(err)
	}
	p := Program{OPA: "v1.22.0", Folders: map[string]string{}, Info: &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/command", Version: "v0.1.0"},
		Deps: []*debug.Module{
			{Path: "z.b/replaced", Version: "v1.0.0", Replace: &debug.Module{Path: "a.b/fork", Version: "v1.0.1"}},
			{Path: "a.b/local", Version: "v0.0.0", Replace: &debug.Module{Path: "../local"}},
			{Path: "a.b/old", Version: "v2.0.0+incompatible"},
		},
	}}
	for _, module := range []string{"a.b/fork", "a.b/old", opaModule, "std"} {
		p.Folders[module] = filepath.Join(sources, module)
	}
	line := strings.Repeat("=", 80)
	want := "The licences of all parts of the program, each below the names of its files.\n" +
		"\n" + line + "\na.b/fork v1.0.1: LICENSE\na.b/old v2.0.0+incompatible: LICENCE.md\n" + line + "\n\nLicence A\nof two lines\n" +
		"\n" + line + "\na.b/fork v1.0.1: sub/COPYING\n" + line + "\n\nLicence B\n" +
		"\n" + line + "\n" + opaModule + " v1.22.0: NOTICE.txt\n" + line + "\n\nNotice of OPA\n" +
		"\n" + line + "\nstd 1.26.8: LICENSE\n" + line + "\n\nGo's\n"
	if got, missing, err := p.Notices(t.Context(), nil); err != nil || missing != nil || string(got) != want {
		t.Errorf("got %v, %v\n%s\nwant\n%s", missing, err, got, want)
	}
	if err := os.Remove(filepath.Join(sources, "a.b/fork/LICENSE")); err != nil {
		t.Fatal(err)
	}
	if _, missing, err := p.Notices(t.Context(), nil); err != nil || !slices.Equal(missing, []string{"a.b/fork v1.0.1"}) {
		t.Errorf("without a licence, missing are %q, %v", missing, err)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles writes files, by their names, into a temporary folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestThirdPartyNotices(t *testing.T) {
	dirs := map[string]string{
		"a.b/one": writeFiles(t, map[string]string{
			"LICENSE": "Licence A\r\nof two lines\r\n", "NOTICE.txt": "Notice of one", "license.go": "package one",
			"sub/COPYING": "Licence B", "testdata/LICENSE": "of test data",
		}),
		"a.b/two":       writeFiles(t, map[string]string{"LICENCE.md": "\nLicence A\nof two lines"}),
		standardLibrary: writeFiles(t, map[string]string{"LICENSE": "Go's", "src/vendor/LICENSE": "vendored"}),
	}
	components := []component{{path: "a.b/two", version: "v2.0.0"}, {path: "a.b/one", version: "v1.0.0"}, {path: standardLibrary, version: "1.26.0"}}
	dirOf := func(c component) (string, error) { return dirs[c.path], nil }
	got, err := thirdPartyNotices(components, dirOf)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("=", 80)
	want := "The licences of all that is in the program, each after the files that it is from.\n" +
		"\n" + line + "\na.b/one v1.0.0: LICENSE\na.b/two v2.0.0: LICENCE.md\n" + line + "\n\nLicence A\nof two lines\n" +
		"\n" + line + "\na.b/one v1.0.0: NOTICE.txt\n" + line + "\n\nNotice of one\n" +
		"\n" + line + "\na.b/one v1.0.0: sub/COPYING\n" + line + "\n\nLicence B\n" +
		"\n" + line + "\nstd 1.26.0: LICENSE\n" + line + "\n\nGo's\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// One that is only in a folder below may be that of a part.
	dirs["a.b/two"] = writeFiles(t, map[string]string{"README": "text", "sub/LICENSE": "Licence B"})
	if _, err := thirdPartyNotices(components, dirOf); err == nil || !strings.Contains(err.Error(), "a.b/two v2.0.0 has no licence") {
		t.Errorf("without a licence the error is %v", err)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

const ourHeaderText = "// Copyright 2026 The Regometer Authors\n// SPDX-License-Identifier: Apache-2.0\n\n"

func opaHeaderText() string { return strings.ReplaceAll(opaHeader, "$1", "2026") + "\n" }

// leaving has the tests of OPA's that leave with the files they test. The
// conformance suite and TestSampleAfterIdleTime check the same of our files.
var leaving = strings.Fields("TestHistogramValue TestHistogramValueEmpty TestPercentiles TestExpDecaySampleReservoirSize TestExpDecaySampleRescale")

// The package as it is tested in OPA passes go vet beside OPA's own tests, of
// which no other leaves.
func TestForTests(t *testing.T) {
	for _, v := range []string{OldestVersion, NewestVersion} {
		t.Run(v, func(t *testing.T) {
			d := loadDropIn()
			opa := sourceOf(t, v)
			mod, err := os.ReadFile(filepath.Join(opa, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			// The package imports nothing of OPA's, so the rest can be missing.
			tree := t.TempDir()
			writeText(t, filepath.Join(tree, "go.mod"), "module "+opaModule+"\n\n"+string(goLine.Find(mod))+"\n")
			dir := filepath.Join(tree, metricsDir)
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(opa, metricsDir))); err != nil {
				t.Fatal(err)
			}
			u, _, err := d.forTests(tree)
			if err != nil {
				t.Fatal(err)
			}
			now, err := goFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			for name := range u {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil && isTest(name) && name != "sample_test.go" {
					t.Errorf("%s is the name of a test of OPA's too", name)
				}
			}
			r := u.replace(now)
			for name := range r {
				for _, found := range testFunction.FindAllSubmatch(now[name], -1) {
					if id := string(found[1]); !slices.Contains(leaving, id) {
						t.Errorf("%s of %s leaves", id, name)
					}
				}
			}
			if err := r.apply(dir); err != nil {
				t.Fatal(err)
			}
			if out, err := (gotool.Command{Dir: tree, Args: []string{"vet", "./" + filepath.ToSlash(metricsDir)}}).Output(t.Context()); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

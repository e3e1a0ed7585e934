// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/gotool"
)

const ourHeaderText = "// Copyright 2026 The Regometer Authors\n// SPDX-License-Identifier: Apache-2.0\n\n"

func opaHeaderText() string { return strings.ReplaceAll(opaHeader, "$1", "2026") + "\n" }

func TestUpstream(t *testing.T) {
	testImporting := func(paths ...string) string {
		text := "package metrics_test\n\nimport (\n\t\"testing\"\n"
		for _, p := range paths {
			text += "\n\t\"" + p + "\"\n"
		}
		return text + ")\n\nfunc TestA(t *testing.T) {}\n"
	}
	d := dropIn{
		"a.go":       []byte(ourHeaderText + "//go:build go1.25\n\n// Package metrics is\n// Copyright free.\npackage metrics\n"),
		"b.go":       []byte(ourHeaderText + "//go:build gc && go1.25\n\npackage metrics\n"),
		"foreign.go": []byte("// Copyright 2020 Somebody\n\npackage metrics\n\n// See //go:build go1.2.\nvar text = \"//go:build go1.2\"\n"),
		"a_test.go":  []byte(ourHeaderText + testImporting("github.com/regometer/regometer/metrics")),
		"b_test.go":  []byte(ourHeaderText + testImporting("github.com/regometer/regometer/metrics", "github.com/regometer/regometer/metrics/metricstest")),
	}
	for _, c := range []struct {
		goLine, note string
		want         map[string]string
	}{
		{"go 1.26.0\n", "", map[string]string{
			"a.go":       opaHeaderText() + "// Package metrics is\n// Copyright free.\npackage metrics\n",
			"b.go":       opaHeaderText() + "//go:build gc && go1.25\n\npackage metrics\n",
			"foreign.go": string(d["foreign.go"]),
			"a_test.go":  opaHeaderText() + testImporting("github.com/open-policy-agent/opa/v1/metrics"),
		}},
		{"go 1.22.7\n\ntoolchain go1.25.0\n", "written for go1.25, this OPA for go1.22", map[string]string{
			"a.go":       opaHeaderText() + "//go:build go1.25\n\n// Package metrics is\n// Copyright free.\npackage metrics\n",
			"b.go":       opaHeaderText() + "//go:build gc && go1.25\n\npackage metrics\n",
			"foreign.go": string(d["foreign.go"]),
		}},
	} {
		files := opaTree()
		files["go.mod"] = "module " + opaModule + "\n\n" + c.goLine
		u, note, err := d.upstream(writeTree(t, files))
		if err != nil || !strings.Contains(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%s: note %q, error %v", c.goLine, note, err)
		}
		got := map[string]string{}
		for name, text := range u {
			got[name] = string(text)
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: got %q\nwant %q", c.goLine, got, c.want)
		}
	}
	files := opaTree()
	files["go.mod"] = "module " + opaModule + "\n"
	_, _, err := d.upstream(writeTree(t, files))
	checkError(t, "no go line", err, "no go line")
}

// successors has, for the tests of OPA's that leave with the files they test,
// the test of ours that takes their place.
var successors = map[string]string{
	"TestHistogramValue":              "TestHistogramValue",
	"TestHistogramValueEmpty":         "TestHistogramValue",
	"TestPercentiles":                 "TestHistogramValue",
	"TestExpDecaySampleReservoirSize": "TestSampleAfterIdleTime",
	"TestExpDecaySampleRescale":       "TestSampleAfterIdleTime",
}

// The package as it is put into OPA passes go vet beside OPA's own tests, with
// ours for all that leave.
func TestUpstreamOfOwnFiles(t *testing.T) {
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
			u, _, err := d.upstream(tree)
			if err != nil {
				t.Fatal(err)
			}
			now, err := goFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			ours := map[string]bool{}
			for name, text := range u {
				if strings.Contains(string(text), "Regometer") || strings.Contains(string(text), "regometer/") {
					t.Errorf("%s speaks of Regometer", name)
				}
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil && isTest(name) && name != "sample_test.go" {
					t.Errorf("%s is the name of a test of OPA's too", name)
				}
				for _, found := range testFunction.FindAllSubmatch(text, -1) {
					ours[string(found[1])] = true
				}
			}
			r := difference(now, u.replace(now))
			for name := range r {
				for _, found := range testFunction.FindAllSubmatch(now[name], -1) {
					if id := string(found[1]); !ours[successors[id]] {
						t.Errorf("%s of %s leaves without a successor", id, name)
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

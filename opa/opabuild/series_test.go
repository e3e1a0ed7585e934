// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the hashes of the declarations that the series for OPA replaces")

// The steps fit the release that they are written for.
func TestSeries(t *testing.T) {
	steps, err := Series()
	if err != nil {
		t.Fatal(err)
	}
	opa, err := UpstreamSource(t.Context())
	if err != nil {
		t.Skip(err)
	}
	tree := fstest.MapFS{}
	for i, s := range steps {
		for _, name := range s.Paths() {
			if text, err := os.ReadFile(filepath.Join(opa, name)); tree[name] == nil && err == nil {
				tree[name] = &fstest.MapFile{Data: text}
			}
		}
		if *update {
			updateHashes(t, tree, &steps[i])
		}
		after, err := applied(tree, steps[i:i+1])
		if err != nil {
			t.Fatalf("%v (if what is there is what the step is for, -update writes its hashes)", err)
		}
		for name, text := range after[0] {
			tree[name] = &fstest.MapFile{Data: text}
		}
	}
}

// updateHashes writes the hashes of what a step replaces and removes in the
// tree.
func updateHashes(t *testing.T, tree fs.FS, s *Step) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join("_upstream", "[0-9][0-9]-"+s.Name))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	file := filepath.Join(folders[0], "changes")
	list, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = withHashes(list, s, tree); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, list, 0o644); err != nil {
		t.Fatal(err)
	}
}

// withHashes returns a step's list of changes with the hashes of what is in the
// tree, and puts them into the step. What is not there is left for the step to
// say.
func withHashes(list []byte, s *Step, tree fs.FS) ([]byte, error) {
	lines := slices.Collect(strings.Lines(string(list)))
	for i, c := range s.changes {
		text, err := fs.ReadFile(tree, c.path)
		if c.verb != "replace" && c.verb != "remove" || err != nil {
			continue
		}
		f, err := parseFile(c.path, text)
		if err != nil {
			return nil, err
		}
		if at := f.find(c.name); at >= 0 {
			hash, line := hashOfDecl(f.decls[at].text), &lines[c.line-1]
			if c.hash != "" {
				*line = strings.Replace(*line, " "+c.hash, " "+hash, 1)
			} else {
				*line = strings.Replace(*line, c.name, c.name+" "+hash, 1)
			}
			s.changes[i].hash = hash
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

// sampleText is a file of fixtureTree.
const sampleText = `// Copyright 2026 The OPA Authors.  All rights reserved.
// Use of this source code is governed by an Apache2
// license that can be found in the LICENSE file.

package metrics

import (
	"math"
	"time"
)

// Values.
const (
	first  = 1 // the first
	second = 2
)

type timer struct{}

type clock struct {
	x int // one
}

// Stop stops.
func (timer) Stop(int) string { return "OPA" }

// The helpers follow.

func half(x float64) float64 { return math.Floor(x / 2) } // rounds

func wait() { time.Sleep(first) }
func none() {}
`

// fixtureTree is opaTree in the release of the series, with a longer file.
func fixtureTree() map[string]string {
	files := opaTree()
	files["v1/version/version.go"] = strings.Replace(files["v1/version/version.go"], "1.5.0", UpstreamVersion[1:], 1)
	files["v1/metrics/sample.go"] = sampleText
	return files
}

// fixtureSteps are two steps for fixtureTree. Beside a declaration each, the
// first removes a test and the second adds a file and a test.
func fixtureSteps() fstest.MapFS {
	steps := fstest.MapFS{}
	for name, text := range map[string]string{
		"README.md":         "no step",
		"01-stop/text.md":   "metrics: stop otherwise\n\nSo that it is *told*,\nin two lines.\n\n# Not a comment\n",
		"01-stop/changes":   "# what stops\nreplace v1/metrics/sample.go (timer).Stop HASH\nremove v1/metrics/sample_test.go TestSample HASH # gone\n",
		"02-halves/text.md": "metrics: halve otherwise",
		"02-halves/changes": "remove v1/metrics/sample.go half HASH\nreplace v1/metrics/sample.go (timer).Stop HASH\n" +
			"add v1/metrics/half.go\nadd v1/metrics/sample_test.go TestHalf\n",
		"01-stop/v1/metrics/sample.go": ourHeaderText + "package metrics\n\nimport \"strings\"\n\n" +
			"// Stop stops, and says so.\nfunc (timer) Stop(int) string {\n\treturn strings.ToUpper(\"one step\")\n}\n",
		"02-halves/v1/metrics/half.go":        ourHeaderText + "package metrics\n\nfunc halves(x int) int { return x / 2 }\n",
		"02-halves/v1/metrics/sample.go":      ourHeaderText + "package metrics\n\nfunc (timer) Stop(n int) string { return \"TWO STEPS\"[:9-halves(0)] }\n",
		"02-halves/v1/metrics/sample_test.go": ourHeaderText + "package metrics\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif halves(2) != 1 {\n\t\tt.Error(halves(2))\n\t}\n}\n",
	} {
		steps[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return steps
}

// mustLoad loads steps, with the hashes of what is in the tree that files are.
func mustLoad(t *testing.T, fsys fstest.MapFS, files map[string]string) []Step {
	t.Helper()
	steps, err := loadSteps(fsys)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for i, s := range steps {
		list := fsys[fmt.Sprintf("%02d-%s/changes", s.Number, s.Name)].Data
		if _, err := withHashes(list, &steps[i], tree); err != nil {
			t.Fatal(err)
		}
		after, err := applied(tree, steps[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range after[0] {
			tree[name] = &fstest.MapFile{Data: text}
		}
	}
	return steps
}

func TestApplySteps(t *testing.T) {
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps(), files)
	dir := writeTree(t, files)
	before := readTree(t, dir)
	if err := ApplySteps(dir, steps); err != nil {
		t.Fatal(err)
	}
	after := readTree(t, dir)
	changed := maps.Clone(after)
	maps.DeleteFunc(changed, func(name, text string) bool { return before[name] == text })
	if got, want := slices.Sorted(maps.Keys(changed)), []string{"v1/metrics/half.go", "v1/metrics/sample.go", "v1/metrics/sample_test.go"}; !slices.Equal(got, want) || len(after) != len(before)+1 {
		t.Errorf("changed %q, want %q", got, want)
	}
	if want := opaHeaderText() + "package metrics\n"; !strings.Contains(after["v1/metrics/half.go"], "\n"+want) {
		t.Errorf("a new file is\n%s", after["v1/metrics/half.go"])
	}
	if got := run(t, "go", "-C", dir, "run", "."); got != UpstreamVersion[1:]+"  TWO STEPS" {
		t.Errorf("prints %q", got)
	}

	// What is not as it was is refused, and nothing changes.
	checkError(t, "twice", ApplySteps(dir, steps), "step 1 (stop): v1/metrics/sample.go: (timer).Stop is not what the step was written for")
	checkSameTree(t, dir, after)
	dir = writeTree(t, files)
	broken := slices.Clone(steps)
	broken[1].changes = append(slices.Clone(broken[1].changes), change{verb: "remove", path: "v1/metrics/sample.go", name: "mean"})
	checkError(t, "the last change", ApplySteps(dir, broken), "step 2 (halves): v1/metrics/sample.go: no declaration mean to remove")
	checkSameTree(t, dir, before)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	checkError(t, "read-only", ApplySteps(dir, steps), "read-only, as in Go's module cache")
	checkError(t, "no OPA", ApplySteps(t.TempDir(), steps), "has no go.mod")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	checkSameTree(t, dir, before)

	// Nor does a link lead the change out of the tree.
	outside := filepath.Join(t.TempDir(), "metrics")
	if err := os.Rename(filepath.Join(dir, "v1/metrics"), outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "v1/metrics")); err != nil {
		t.Skip(err)
	}
	before = readTree(t, outside)
	checkError(t, "outside", ApplySteps(dir, steps), "escapes")
	checkSameTree(t, outside, before)
}

func TestFirstSteps(t *testing.T) {
	all, err := Series()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(all); n++ {
		if steps, err := firstSteps(n); len(steps) != n || err != nil {
			t.Errorf("%d: got %d, %v", n, len(steps), err)
		}
	}
	if steps, err := firstSteps(AllSteps); len(steps) != len(all) || (err != nil) != (len(all) == 0) {
		t.Errorf("all: got %d, %v", len(steps), err)
	}
	for _, n := range []int{0, -2, len(all) + 1} {
		_, err := firstSteps(n)
		checkError(t, fmt.Sprint(n), err, "there is no step")
	}
}

// The last step is what the build does to the runtime of any OPA.
func TestLastStepIsTheHook(t *testing.T) {
	steps, err := Series()
	if err != nil {
		t.Fatal(err)
	}
	last := steps[len(steps)-1]
	a, b := copyVersion(t, UpstreamVersion), copyVersion(t, UpstreamVersion)
	if err := ApplySteps(a, steps); err != nil {
		t.Fatal(err)
	}
	if err := addHook(t.Context(), b, target()); err != nil {
		t.Fatal(err)
	}
	for _, name := range last.Paths() {
		if isTest(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		hooked, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, hooked) {
			t.Errorf("%s is not as addHook makes it; it has\n%s\nand that\n%s", name, text, hooked)
		}
	}
}

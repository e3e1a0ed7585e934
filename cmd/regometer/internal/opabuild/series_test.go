// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The steps fit the release that they are written for, each also after only
// those whose subjects its message quotes.
func TestSeries(t *testing.T) {
	steps, err := Series()
	if err != nil {
		t.Fatal(err)
	}
	source := sourceOf(t, NewestVersion)
	for i, s := range steps {
		needed := []Step{s}
		for _, other := range slices.Backward(steps[:i]) {
			subject, _, _ := strings.Cut(other.Message, "\n")
			if len(subject) > 50 {
				t.Errorf("the subject of %s is long", other.Name)
			}
			if slices.ContainsFunc(needed, func(s Step) bool { return strings.Contains(s.Message, strconv.Quote(subject)) }) {
				needed = append([]Step{other}, needed...)
			}
		}
		if _, err := changeBySteps(source, needed); err != nil {
			t.Error(err)
		}
	}
	if _, err := changeBySteps(source, steps); err != nil {
		t.Error(err)
	}
	if some, err := firstSteps(len(steps) - 1); len(some) != len(steps)-1 || err != nil {
		t.Errorf("got %d of %d steps, %v", len(some), len(steps), err)
	}
	_, err = firstSteps(len(steps) + 1)
	checkError(t, "too many", err, "there is no step")
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
	files["v1/version/version.go"] = strings.Replace(files["v1/version/version.go"], "1.5.0", NewestVersion[1:], 1)
	files["v1/metrics/sample.go"] = sampleText
	return files
}

// fixtureSteps are two steps for fixtureTree. Beside a declaration each, the
// first removes a test and the second adds a file and a test.
func fixtureSteps() fstest.MapFS {
	steps := fstest.MapFS{}
	for name, text := range map[string]string{
		"README.md":           "no step",
		"01-stop/message.txt": "metrics: stop otherwise\n\nSo that it is *told*,\nin two lines.\n\n# Not a comment\n",
		"01-stop/changes.txt": "v1/metrics/sample.go (timer).Stop\n-// Stop stops.\n-func (timer) Stop(int) string { return \"OPA\" }\n" +
			"+// Stop stops, and says so.\n+func (timer) Stop(int) string {\n+\treturn strings.ToUpper(\"one step\")\n+}\n" +
			"v1/metrics/sample_test.go TestSample\n-func TestSample(t *testing.T) { _ = timer{} }\n",
		"02-halves/message.txt": "metrics: halve otherwise",
		"02-halves/changes.txt": "v1/metrics/sample.go half\n-func half(x float64) float64 { return math.Floor(x / 2) } // rounds\n" +
			"v1/metrics/sample.go (timer).Stop\n-\treturn strings.ToUpper(\"one step\")\n+\treturn \"TWO STEPS\"[:9-halves(0)]\n",
		"01-stop/v1/metrics/sample.go":        ourHeaderText + "package metrics\n\nimport \"strings\"\n",
		"02-halves/v1/metrics/half.go":        ourHeaderText + "package metrics\n\nfunc halves(x int) int { return x / 2 }\n",
		"02-halves/v1/metrics/sample_test.go": ourHeaderText + "package metrics\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif halves(2) != 1 {\n\t\tt.Error(halves(2))\n\t}\n}\n",
	} {
		steps[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return steps
}

func mustLoad(t *testing.T, fsys fstest.MapFS) []Step {
	t.Helper()
	steps, err := loadSteps(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// A new declaration stands beside its neighbour in the step's file, and the
// imports follow the declarations.
func TestFileChange(t *testing.T) {
	const theirs = `package p

import (
	"math"
	"strings"

	"example.com/x/v2"
)

var a = math.Pi
var b = 1 // one

// f does.
func f() { strings.ToUpper("") }

func (*T[K]) g() { x.X() }
`
	for _, c := range []struct{ name, ours, want, changes string }{
		{"at the end", "package p\n\nfunc h() {}\n", theirs + "\nfunc h() {}\n", ""},
		{"after its predecessor", "package p\n\nfunc h() {}\n\nfunc i() {}\n", strings.Replace(theirs, "// f does", "func h() {}\n\nfunc i() {}\n\n// f does", 1), "p.go h after b\n"},
		{"edited", "", strings.Replace(theirs, "\"\")", "\"x\")", 1), "p.go f\n // f does.\n-func f() { strings.ToUpper(\"\") }\n+func f() { strings.ToUpper(\"x\") }\n"},
		{"edited and extended", "", strings.Replace(theirs, "x.X() }\n", "x.X() }\n\nvar c = 1\n", 1), "p.go (*T).g\n func (*T[K]) g() { x.X() }\n+\n+var c = 1\n"},
		{"removed", "", strings.NewReplacer("// f does.\nfunc f() { strings.ToUpper(\"\") }\n\n", "", "\t\"strings\"\n", "").Replace(theirs), "p.go f\n-// f does.\n-func f() { strings.ToUpper(\"\") }\n"},
		{"the last one", "", strings.Replace(theirs, "\n\nfunc (*T[K]) g() { x.X() }", "", 1), "p.go (*T).g\n-func (*T[K]) g() { x.X() }\n"},
		{"imports", "package p\n\nimport \"fmt\"\n",
			strings.NewReplacer("\t\"math\"\n", "\t\"fmt\"\n", "math.Pi", "fmt.Sprint()").Replace(theirs), "p.go a\n-var a = math.Pi\n+var a = fmt.Sprint()\n"},
	} {
		s := Step{files: map[string]*fileChange{}}
		if err := s.parseChanges(c.changes); err != nil {
			t.Fatal(err)
		}
		change := s.file("p.go")
		if c.ours != "" {
			change.text = []byte(c.ours)
		}
		if got, err := change.apply("p.go", []byte(theirs)); err != nil || string(got) != c.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

func TestLoadSteps(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"step 02-b: invalid name, want 01- and words":     {"02-b/message.txt": "x"},
		"step 01-b: message.txt: want a subject":          {"01-b/message.txt": "x\ny"},
		"changes.txt: invalid line \"x\", want PATH NAME": {"01-b/changes.txt": "x"},
		"step 01-b: unknown file v1/metrics/README.md":    {"01-b/v1/metrics/README.md": "x"},
	} {
		fsys := fstest.MapFS{}
		for name, text := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := loadSteps(fsys)
		checkError(t, want, err, want)
	}
}

func applySteps(dir string, steps []Step) error {
	changed, err := changeBySteps(dir, steps)
	if err != nil {
		return err
	}
	return changed.apply(dir)
}

func TestApplySteps(t *testing.T) {
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps())
	dir := writeTree(t, files)
	before := readTree(t, dir)
	if err := applySteps(dir, steps); err != nil {
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
	if got := run(t, "go", "-C", dir, "run", "."); got != NewestVersion[1:]+"  TWO STEPS" {
		t.Errorf("prints %q", got)
	}

	// What is not as it was is refused, and nothing changes.
	checkError(t, "twice", applySteps(dir, steps), "step 1 (stop): v1/metrics/sample.go: (timer).Stop is not what the step was written for: the lines to change occur 0 times")
	checkSameTree(t, dir, after)
	dir = writeTree(t, files)
	broken := slices.Clone(steps)
	for want, spoiled := range map[string]fileChange{
		"there is no declaration median":    {edits: []edit{{"median", "x\n", "y\n"}}},
		"the lines to change occur 0 times": {edits: []edit{{"half", "x\n", "y\n"}}},
		"the lines to change occur 2 times": {edits: []edit{{"half", "x", "y"}}},
		"there is no declaration nothing":   {text: []byte("package metrics\n\nfunc third() {}\n"), after: map[string]string{"third": "nothing"}},
		"half is already declared":          {text: []byte("package metrics\n\nfunc half() {}\n")},
	} {
		broken[1].files = map[string]*fileChange{"v1/metrics/sample.go": &spoiled}
		checkError(t, want, applySteps(dir, broken), want)
	}
	checkSameTree(t, dir, before)
	// Nor does a link lead the change out of the tree: that of a file, of its
	// folder or of the folder above.
	for _, name := range []string{"v1/metrics/sample_test.go", "v1/metrics", "v1"} {
		dir, away := writeTree(t, files), filepath.Join(t.TempDir(), "away")
		file := filepath.Join(dir, name)
		if err := os.Rename(file, away); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(away, file); err != nil {
			t.Skip(err)
		}
		inside, outside := readTree(t, dir), readTree(t, filepath.Dir(away))
		checkError(t, name, applySteps(dir, steps), "escapes")
		checkSameTree(t, dir, inside)
		for _, text := range [][]byte{nil, []byte("new")} {
			want := "escapes"
			if name == "v1/metrics/sample_test.go" {
				want = "" // the file takes the place of the link
			}
			checkError(t, name, replacement{"v1/metrics/sample_test.go": text}.apply(dir), want)
		}
		checkSameTree(t, filepath.Dir(away), outside)
	}
}

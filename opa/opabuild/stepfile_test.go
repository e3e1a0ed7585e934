// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"strings"
	"testing"
	"testing/fstest"
)

// Each kind of change, on sampleText.
func TestStepChanges(t *testing.T) {
	for _, c := range []struct {
		name, file, changes, imports, decls string
		edits                               []string // of sampleText: old and new, in turns
		want                                string   // or the error
	}{
		{
			name: "replace a method", changes: "replace FILE (timer).Stop HASH", decls: "// Stop is new.\nfunc (timer) Stop(int) string { return \"\" } // so",
			edits: []string{"// Stop stops.\nfunc (timer) Stop(int) string { return \"OPA\" }", "// Stop is new.\nfunc (timer) Stop(int) string { return \"\" } // so"},
		},
		{
			name: "replace a group", changes: "replace FILE first HASH", decls: "const first = 1",
			edits: []string{"// Values.\nconst (\n\tfirst  = 1 // the first\n\tsecond = 2\n)", "const first = 1"},
		},
		{
			name: "replace the last of a package's uses", changes: "replace FILE half HASH", decls: "func half(x float64) float64 { return x / 2 }",
			edits: []string{"\t\"math\"\n", "", "{ return math.Floor(x / 2) } // rounds", "{ return x / 2 }"},
		},
		{
			name: "remove between lines", changes: "remove FILE wait HASH",
			edits: []string{"\t\"time\"\n", "", "func wait() { time.Sleep(first) }\n", ""},
		},
		{
			name: "remove the first of some lines, the last use of a package", changes: "remove FILE wait HASH\nremove FILE half HASH",
			edits: []string{"import (\n\t\"math\"\n\t\"time\"\n)\n\n", "", "func half(x float64) float64 { return math.Floor(x / 2) } // rounds\n\n", "", "func wait() { time.Sleep(first) }\n", ""},
		},
		{name: "remove the last", changes: "remove FILE none HASH", edits: []string{"func none() {}\n", ""}},
		{name: "remove the first", changes: "remove FILE first HASH", edits: []string{"// Values.\nconst (\n\tfirst  = 1 // the first\n\tsecond = 2\n)\n\n", ""}},
		{name: "remove with comment", changes: "remove FILE (timer).Stop HASH", edits: []string{"// Stop stops.\nfunc (timer) Stop(int) string { return \"OPA\" }\n\n", ""}},
		{name: "add at the end", changes: "add FILE (*clock).f", decls: "func (c *clock) f() {}", edits: []string{"func none() {}\n", "func none() {}\n\nfunc (c *clock) f() {}\n"}},
		{name: "add behind", changes: "add FILE f after timer", decls: "func f() {}", edits: []string{"type timer struct{}\n\n", "type timer struct{}\n\nfunc f() {}\n\n"}},
		{name: "add a line among lines", changes: "add FILE f after wait", decls: "func f() {}", edits: []string{"func none() {}\n", "func f()    {}\nfunc none() {}\n"}},
		{name: "add lines among lines", changes: "add FILE f after wait", decls: "// f.\nfunc f() {}", edits: []string{"func none() {}\n", "\n// f.\nfunc f() {}\n\nfunc none() {}\n"}},
		{name: "add in front of a comment", changes: "add FILE f after (timer).Stop", decls: "func f() {}", edits: []string{"// The helpers", "func f() {}\n\n// The helpers"}},
		{name: "add behind the last", changes: "add FILE f after none", decls: "func f() {}", edits: []string{"func none() {}\n", "func none() {}\n\nfunc f() {}\n"}},
		{name: "add in turn", changes: "add FILE f after timer\nadd FILE g after f\nadd FILE h after timer", decls: "func f() {}\n\nfunc g() {}\n\nfunc h() {}", edits: []string{"type timer struct{}\n\n", "type timer struct{}\n\nfunc h() {}\n\nfunc f() {}\n\nfunc g() {}\n\n"}},
		{name: "add a generic method", changes: "add FILE (*table).get", decls: "func (t *table[K, V]) get() {}", edits: []string{"func none() {}\n", "func none() {}\n\nfunc (t *table[K, V]) get() {}\n"}},
		{name: "move", changes: "remove FILE first HASH\nadd FILE second after timer", decls: "const second = 2", edits: []string{"// Values.\nconst (\n\tfirst  = 1 // the first\n\tsecond = 2\n)\n\n", "", "type timer struct{}\n", "type timer struct{}\n\nconst second = 2\n"}},
		{
			name: "extend", changes: "extend FILE timer", decls: "type timer struct {\n\t// x is it.\n\tx, y int // both\n}",
			edits: []string{"type timer struct{}", "type timer struct {\n\t// x is it.\n\tx, y int // both\n}"},
		},
		{
			name: "extend what has fields", changes: "extend FILE clock", decls: "type clock struct {\n\ty, z *int\n}",
			edits: []string{"\tx int // one\n", "\tx int // one\n\n\ty, z *int\n"},
		},
		{
			name: "imports", changes: "add FILE f", imports: "import (\n\t\"maps\"\n\t\"math\"\n\tr \"math/rand/v2\"\n\t\"os\"\n\n\t\"example.com/x/v2\"\n\n\t\"github.com/open-policy-agent/opa/v1/ast\"\n\t\"github.com/open-policy-agent/opa/v1/util\"\n)\n\n",
			decls: "func f() { ast.F(util.G(x.H(r.Int(), maps.Keys))) }",
			edits: []string{"\t\"math\"\n", "\t\"maps\"\n\t\"math\"\n\tr \"math/rand/v2\"\n", "\t\"time\"\n", "\t\"time\"\n\n\t\"example.com/x/v2\"\n\n\t\"github.com/open-policy-agent/opa/v1/ast\"\n\t\"github.com/open-policy-agent/opa/v1/util\"\n", "func none() {}\n", "func none() {}\n\nfunc f() { ast.F(util.G(x.H(r.Int(), maps.Keys))) }\n"},
		},
		{
			name: "an import in the place of others", changes: "replace FILE half HASH\nreplace FILE wait HASH", imports: "import \"example.com/x\"\n\n", decls: "func half() { x.F() }\n\nfunc wait() {}",
			edits: []string{"\t\"math\"\n\t\"time\"\n", "\t\"example.com/x\"\n", "func half(x float64) float64 { return math.Floor(x / 2) } // rounds", "func half() { x.F() }", "func wait() { time.Sleep(first) }", "func wait() {}"},
		},

		{name: "nothing to remove", changes: "remove FILE mean 0", want: "no declaration mean to remove"},
		{name: "nothing to replace", changes: "replace FILE mean 0", decls: "func mean() {}", want: "no declaration mean to replace"},
		{name: "other text", changes: "remove FILE half 0123456789ab", want: "half is not what the step was written for (its text's hash is b5de7b73261f, expected 0123456789ab)"},
		{name: "no hash", changes: "remove FILE half", want: "half is not what the step was written for (its text's hash is b5de7b73261f, expected none)"},
		{name: "declared already", changes: "add FILE half", decls: "func half() {}", want: "no half to add: declared already"},
		{name: "behind nothing", changes: "add FILE f after mean", decls: "func f() {}", want: "no declaration mean to put f behind"},
		{name: "extend nothing", changes: "extend FILE mean", decls: "type mean struct{}", want: "no declaration mean to extend"},
		{name: "extend no struct", changes: "extend FILE first", decls: "type first struct{}", want: "first is no struct type to extend"},
		{name: "extend by no struct", changes: "extend FILE timer", decls: "type timer int", want: "timer, in the step's file, is no struct type"},
		{name: "extend by what is there", changes: "extend FILE clock", decls: "type clock struct{ y, x int }", want: "clock has a field x already"},
		{name: "another package", file: "other.go", changes: "add FILE f", decls: "func f() {}", want: "is of package other, the step's file of package metrics"},
		{name: "no such file", file: "none.go", changes: "remove FILE f 0", want: "there is no such file"},
		{name: "the file is there", changes: "add FILE", decls: "func f() {}", want: "no file to add: it is there already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := cmp.Or(c.file, "v1/metrics/sample.go")
			steps := fstest.MapFS{
				"01-x/text.md": {Data: []byte("x")},
				"01-x/changes": {Data: []byte(strings.ReplaceAll(c.changes, "FILE", name))},
			}
			if c.decls != "" {
				steps["01-x/"+name] = &fstest.MapFile{Data: []byte(ourHeaderText + "package metrics\n\n" + c.imports + c.decls + "\n")}
			}
			loaded, err := loadSteps(steps)
			if err != nil {
				t.Fatal(err)
			}
			tree := fstest.MapFS{"v1/metrics/sample.go": {Data: []byte(sampleText)}, "other.go": {Data: []byte("package other\n")}}
			if strings.Contains(c.changes, "HASH") {
				if _, err := withHashes(steps["01-x/changes"].Data, &loaded[0], tree); err != nil {
					t.Fatal(err)
				}
			}
			after, err := applied(tree, loaded)
			if c.want != "" {
				checkError(t, c.name, err, "step 1 (x): "+name+": "+c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := sampleText
			for i := 0; i < len(c.edits); i += 2 {
				if strings.Count(want, c.edits[i]) != 1 {
					t.Fatalf("the test's edit %q is wrong for\n%s", c.edits[i], want)
				}
				want = strings.Replace(want, c.edits[i], c.edits[i+1], 1)
			}
			if want = strings.TrimRight(want, "\n") + "\n"; string(after[0][name]) != want {
				t.Errorf("got\n%s\nwant\n%s", after[0][name], want)
			}
		})
	}
}

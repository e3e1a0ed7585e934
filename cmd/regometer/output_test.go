// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regometer/regometer/cmd/regometer/internal/ociimage"
	"github.com/regometer/regometer/internal/app/page"
	"github.com/regometer/regometer/internal/app/report"
)

// outputFlags are all flags that name a file to write, each with a call of its
// command. In a call, PROGRAM is a module with OPA inside and TREE is that OPA.
var outputFlags = []struct {
	command, flag string
	args          string
	suffix        string // of the file's name
	// is reports whether a file has the flag's kind.
	is        func(path string) bool
	input     string // a file that the call with inputArgs reads
	inputArgs string
}{
	{"report", "html", "d.log", ".html", page.IsPage, "d.log", "d.log"},
	{"report", "save", "d.log", ".rgm", report.IsSaved, "logs/a.log", "logs"},
	{"report", "parquet", "d.log", ".parquet", beginsWith("PAR1"), "logs/a.log", "logs/*"},
	{"merge", "html", "m.rgm", ".html", page.IsPage, "m.rgm", "m.rgm"},
	{"merge", "save", "m.rgm", ".rgm", report.IsSaved, "m.rgm", "m.rgm"},
	{"sample", "output", "--decisions 5", ".log", func(path string) bool { return truthKind.is(path + ".truth.json") }, "", ""},
	{"build", "output", "--unmodified --opa TREE", "", executableKind.is, "TREE/main.go", "--opa TREE"},
	{"build", "output", "-C PROGRAM .", "", executableKind.is, "PROGRAM/main.go", "-C PROGRAM ."},
	{"build", "image", "--unmodified --opa TREE", ".tar", ociimage.IsImage, "base.tar", "--unmodified --opa TREE --base base.tar"},
	{"build", "image", "-C PROGRAM .", ".tar", ociimage.IsImage, "base.tar", "-C PROGRAM . --base base.tar"},
}

// Flags that name a file or a folder that is read, or a folder for files that
// the command names: what is there stays, as TestKeep shows.
var otherFileFlags = []string{"build base", "build chdir", "build opa", "demo keep", "demo opa", "opa opa", "verify chdir", "verify keep", "verify opa", "verify packages"}

// A new flag that names a file must be in one of the lists above.
func TestOutputFlags(t *testing.T) {
	found := map[string]bool{}
	for _, cmd := range newRootCommand().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			usage := strings.ToLower(f.Usage)
			if f.Name != "force" && (strings.Contains(usage, "file") || strings.Contains(usage, "folder")) {
				found[cmd.Name()+" "+f.Name] = true
			}
		})
	}
	listed := map[string]bool{}
	for _, name := range otherFileFlags {
		listed[name] = true
	}
	for _, f := range outputFlags {
		listed[f.command+" "+f.flag] = true
		if cmd := subcommand(t, f.command); cmd.Flags().Lookup("force") == nil {
			t.Errorf("%s has no flag --force", f.command)
		}
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(listed)); !slices.Equal(got, want) {
		t.Errorf("flags that name files are %q, want %q", got, want)
	}
}

func subcommand(t *testing.T, name string) *cobra.Command {
	t.Helper()
	for _, cmd := range newRootCommand().Commands() {
		if cmd.Name() == name {
			return cmd
		}
	}
	t.Fatalf("there is no command %s", name)
	return nil
}

// A workshop is a folder with inputs for all commands, the current one.
type workshop struct {
	t             *testing.T
	dir           string
	tree, program string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	w := &workshop{t: t, dir: t.TempDir(), tree: tinyOPA(t), program: t.TempDir()}
	t.Chdir(w.dir)
	w.write(filepath.Join(w.program, "go.mod"), "module example.com/program\n\ngo 1.22\n\nrequire github.com/open-policy-agent/opa v1.5.0\n\nreplace github.com/open-policy-agent/opa => "+w.tree+"\n")
	w.write(filepath.Join(w.program, "main.go"), "package main\n\nimport _ \"github.com/open-policy-agent/opa/v1/metrics\"\n\nfunc main() {}\n")
	w.write("base.tar", "a base image")
	w.must("sample", "--decisions", "20", "-o", "d.log")
	if err := os.MkdirAll("logs", 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("logs/a.log", w.read("d.log"))
	w.must("report", "d.log", "--save", "m.rgm")
	return w
}

func (w *workshop) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workshop) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// args returns the words of a call.
func (w *workshop) args(call string) []string {
	return strings.Fields(strings.NewReplacer("TREE", w.tree, "PROGRAM", w.program).Replace(call))
}

func (w *workshop) run(stdin io.Reader, stdout io.Writer, args ...string) (status int, stderr string) {
	var b bytes.Buffer
	status = run(w.t.Context(), args, stdin, stdout, &b)
	return status, b.String()
}

func (w *workshop) must(args ...string) {
	w.t.Helper()
	if status, stderr := w.run(strings.NewReader(""), io.Discard, args...); status != 0 {
		w.t.Fatalf("%q: status %d: %s", args, status, stderr)
	}
}

// refused makes a call that must change nothing.
func (w *workshop) refused(want string, stdin io.Reader, stdout io.Writer, args ...string) {
	w.t.Helper()
	before := w.state()
	status, stderr := w.run(stdin, stdout, args...)
	if status != exitFailure || !strings.Contains(stderr, want) {
		w.t.Errorf("%q: status %d: %s, want %q", args, status, stderr, want)
	}
	if after := w.state(); !maps.Equal(before, after) {
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if after[name] != before[name] {
				w.t.Errorf("%q changed %s", args, name)
			}
		}
	}
}

// state returns what is in all files, and where links lead to.
func (w *workshop) state() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, dir := range []string{w.dir, w.tree, w.program} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Type()&fs.ModeSymlink != 0:
				to, err := os.Readlink(path)
				all[path] = "-> " + to
				return err
			case d.IsDir():
				all[path] = "folder"
			default:
				all[path] = w.read(path)
			}
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

// link makes links of both sorts.
func (w *workshop) link(to, symbolic, hard string) {
	w.t.Helper()
	abs, err := filepath.Abs(to)
	if err == nil {
		err = os.Symlink(abs, symbolic)
	}
	if err == nil && hard != "" {
		err = os.Link(abs, hard)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Each output is under the same rules.
func TestOutputs(t *testing.T) {
	w := newWorkshop(t)
	for i, f := range outputFlags {
		t.Run(f.command+" "+f.flag+" "+strings.Fields(f.args)[0], func(t *testing.T) {
			w.t = t
			name := func(n string) string { return n + string(rune('a'+i)) + f.suffix }
			call := func(out string, more ...string) []string {
				args := append([]string{f.command}, w.args(f.args)...)
				return append(append(args, "--"+f.flag, out), more...)
			}
			stdin := strings.NewReader("")
			foreign, symlink := name("foreign"), name("symlink")
			w.write(foreign, "mine")
			w.link(foreign, symlink, "")
			for _, out := range []string{foreign, symlink} {
				w.refused("--"+f.flag+": "+out+" exists and is not a", stdin, io.Discard, call(out)...)
			}
			if f.flag != "output" || f.command != "sample" { // where it is meant
				w.refused("--"+f.flag+": - is standard output", stdin, io.Discard, call("-")...)
			}
			if !strings.HasPrefix(f.flag, "image") {
				w.refused("is a folder, and would be replaced", stdin, io.Discard, call("logs")...)
			}
			w.refused("there is no folder none", stdin, io.Discard, call(filepath.Join("none", name("x")))...)
			w.refused("is a device, and would be replaced", stdin, io.Discard, call(deviceLink(t, f.suffix))...)

			if f.input != "" {
				input := w.args(f.input)[0]
				reads := append([]string{f.command}, w.args(f.inputArgs)...)
				bySymlink, byLink := name("input-symlink"), name("input-link")
				outs := []string{input, bySymlink}
				if strings.HasPrefix(f.input, "TREE") || strings.HasPrefix(f.input, "PROGRAM") {
					w.link(input, bySymlink, "") // files in folders are read by name
				} else {
					w.link(input, bySymlink, byLink)
					outs = append(outs, byLink)
				}
				for _, out := range outs {
					for _, force := range []string{"--force=false", "--force"} {
						want := " the input "
						if force != "--force" && strings.HasSuffix(input, ".go") {
							want = out
						}
						w.refused(want, stdin, io.Discard, append(reads, "--"+f.flag, out, force)...)
					}
				}
			}

			redirected := name("redirected")
			stdout, err := os.Create(redirected)
			if err != nil {
				t.Fatal(err)
			}
			defer stdout.Close()
			w.refused(redirected+" is also standard output", stdin, stdout, call(redirected)...)
			w.refused(redirected+" is also standard output", stdin, stdout, call(redirected, "--force")...)

			empty := name("empty")
			w.write(empty, "")
			for _, args := range [][]string{call(name("new")), call(empty), call(empty), call(symlink, "--force")} {
				w.must(args...)
			}
			for _, out := range []string{name("new"), empty, foreign} {
				if !f.is(out) {
					if f.command == "sample" && out == foreign {
						continue // its truth is beside the link
					}
					t.Errorf("%s is of another kind", out)
				}
			}
			if to, err := os.Readlink(symlink); filepath.Base(to) != foreign || err != nil {
				t.Errorf("the link leads to %q, %v", to, err)
			}
		})
	}
}

// deviceLink returns the name of a link to a device.
func deviceLink(t *testing.T, suffix string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "device"+suffix)
	if err := os.Symlink(os.DevNull, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Inputs and outputs that are the same file, as a shell redirects them.
func TestOutputIsInput(t *testing.T) {
	w := newWorkshop(t)
	w.link("d.log", "symlink.log", "link.log")
	w.link("logs", "more", "")
	w.must("build", "--unmodified", "--opa", w.tree, "-o", "opa")
	for _, c := range []struct{ call, want string }{
		{"report --save d.log d.log", "--save: d.log is also the input d.log: name another file"},
		{"report --save link.log d.log --force", "--save: link.log is also the input d.log"},
		{"report --save d.log symlink.log", "--save: d.log is also the input symlink.log"},
		{"report --html logs/a.log logs", "--html: logs/a.log is also the input logs/a.log"},
		{"report --html logs/a.log more --force", "--html: logs/a.log is also the input more/a.log"},
		{"report --parquet logs/../logs/a.log log*", "is also the input logs/a.log"},
		{"report - --save d.log < d.log", "--save: d.log is also standard input"},
		{"report - --save symlink.log --force < link.log", "--save: symlink.log is also standard input"},
		{"report d.log >> d.log", "standard output is also the input d.log: redirect it to another file"},
		{"report link.log >> d.log", "standard output is also the input link.log"},
		{"report logs >> logs/a.log", "standard output is also the input logs/a.log"},
		{"report - < d.log >> d.log", "standard output is also standard input"},
		{"report --html page.html logs > page.html", "--html: page.html is also standard output"},
		{"merge --html m.rgm m.rgm", "--html: m.rgm is also the input m.rgm"},
		{"merge --save m.rgm m.rgm --force", "--save: m.rgm is also the input m.rgm"},
		{"merge m.rgm >> m.rgm", "standard output is also the input m.rgm"},
		{"compare d.log logs >> d.log", "standard output is also the input d.log"},
		{"compare m.rgm m.rgm >> m.rgm", "standard output is also the input m.rgm"},
		{"version opa >> opa", "standard output is also the input opa"},
		{"build -o d.log", "--output: d.log exists and is not an executable: name another file, or use --force"},
		{"build --image base.tar", "--image: base.tar exists and is not an image that regometer wrote"},
		{"build --image base.tar --base base.tar --force", "--image: base.tar is also the input base.tar"},
		{"build --opa TREE -o TREE/go.mod --force", "/go.mod is in the input "},
		{"build -C PROGRAM . -o TREE/main.go --force", "/main.go is in the input "},
		{"build -C PROGRAM . --image x.tar -o PROGRAM/main.go --force", "/main.go is in the input "},
	} {
		call, out, _ := strings.Cut(c.call, " >> ")
		flags := os.O_APPEND
		if before, after, ok := strings.Cut(call, " > "); ok {
			call, out, flags = before, after, os.O_TRUNC
		}
		call, in, _ := strings.Cut(call, " < ")
		stdin, stdout := io.Reader(strings.NewReader("")), io.Discard
		if in != "" {
			f, err := os.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			stdin = f
		}
		if out != "" {
			f, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|flags, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			stdout = f
		}
		w.refused(c.want, stdin, stdout, w.args(call)...)
	}
}

// Two outputs of a call are never one file.
func TestOutputTwice(t *testing.T) {
	w := newWorkshop(t)
	w.write("is", "")
	w.link("is", "symlink", "link")
	w.link("d.log", "s.log.truth.json", "")
	w.link("logs", "more", "")
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ call, want string }{
		{"report d.log --html x --save x", "--save: x is also what --html names: name another file"},
		{"report d.log --html x --save logs/../x --force", "--save: logs/../x is also what --html names"},
		{"report d.log --html more/x --save logs/x", "--save: logs/x is also what --html names"},
		{"report d.log --html is --parquet symlink", "--parquet: symlink is also what --html names"},
		{"report d.log --save link --parquet symlink --force", "--parquet: symlink is also what --save names"},
		{"merge m.rgm --html ./x --save x", "is also what --html names"},
		{"sample --decisions 5 -o s.log", "--output: s.log.truth.json exists and is not the truth about a log"},
		{"sample --decisions 5 -o d.log", ""},
		{"build --opa TREE -o x.tar --image x.tar", "--image: x.tar is also what --output names"},
		{"build --opa TREE -o folder/opa --image folder", "--image: folder is also what --output names"},
		{"build --opa TREE -o folder --image folder", "--output: folder is a folder, and would be replaced"},
		{"build -C PROGRAM . -o x.tar --image ./x.tar", "--image: ./x.tar is also what --output names"},
	} {
		if c.want == "" {
			w.must(w.args(c.call)...)
			continue
		}
		w.refused(c.want, strings.NewReader(""), io.Discard, w.args(c.call)...)
	}
	if err := os.Remove("d.log.truth.json"); err != nil {
		t.Fatal(err)
	}
	w.link("d.log", "d.log.truth.json", "")
	w.refused("--output: d.log.truth.json is also what --output names", strings.NewReader(""), io.Discard, "sample", "--decisions", "5", "-o", "d.log", "--force")
}

// A sample replaces a log only if the truth about that is beside it.
func TestSampleReplaces(t *testing.T) {
	w := newWorkshop(t)
	sample := []string{"sample", "--decisions", "5", "-o", "d.log"}
	w.must(sample...)
	truth := w.read("d.log.truth.json")
	w.write("d.log.truth.json", "{}")
	w.refused("--output: d.log exists and is not a log with its truth beside it", nil, io.Discard, sample...)
	if err := os.Remove("d.log"); err != nil {
		t.Fatal(err)
	}
	w.refused("--output: d.log.truth.json exists and is not the truth about a log", nil, io.Discard, sample...)
	w.must(append(sample, "--force")...)
	if w.read("d.log.truth.json") != truth {
		t.Error("--force did not replace the truth")
	}
	if err := os.Remove("d.log.truth.json"); err != nil {
		t.Fatal(err)
	}
	w.refused("is not a log with its truth beside it", nil, io.Discard, sample...)
}

// A program is put where go build puts it, and replaces nothing else there.
func TestBuildProgramInPlace(t *testing.T) {
	w := newWorkshop(t)
	build := []string{"build", "-C", w.program, "."}
	w.write("program", "mine")
	w.refused("--output: program exists and is not an executable", nil, io.Discard, build...)
	if err := os.Remove("program"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.must(build...)
	}
	info, err := os.Stat("program")
	if err != nil {
		t.Fatal(err)
	}
	if !executableKind.is("program") || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
	w.must(append(build, "-o", "binary", "--image", "image.tar", "--platform", "linux/"+runtime.GOARCH)...)
	if !executableKind.is("binary") || !ociimage.IsImage("image.tar") {
		t.Error("beside an image there is no binary")
	}
	// Where its source is, it is no source.
	t.Chdir(w.program)
	for range 2 {
		w.must("build", ".")
	}
}

// A folder with an image is replaced by an image, any other folder stays.
func TestImageFolder(t *testing.T) {
	w := newWorkshop(t)
	image := func(out string, more ...string) []string {
		return append([]string{"build", "--unmodified", "--opa", w.tree, "--image", out}, more...)
	}
	w.write("file", "")
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	w.link("empty", "symlink", "")
	w.link("nothing", "dangling", "")
	for out, want := range map[string]string{
		"logs":          "--image: logs exists, is not empty and is not an image that regometer wrote: name another folder, or remove it",
		"file":          "--image: file is a file, not a folder",
		"dangling":      "which is not there",
		"none/image":    "there is no folder none",
		"m.rgm/x":       "not a directory",
		w.program + "/": "is not an image",
	} {
		w.refused(want, nil, io.Discard, image(out)...)
		w.refused(want, nil, io.Discard, image(out, "--force")...)
	}
	for _, out := range []string{"new/", "symlink", "symlink", "empty"} {
		w.must(image(out)...)
		if !ociimage.IsImage(out) {
			t.Errorf("%s is no image", out)
		}
	}
	w.must(image("based", "--base", "./empty")...)
	w.refused("--image: empty is also the input ./empty", nil, io.Discard, image("empty", "--base", "./empty")...)
	w.write("empty/mine", "mine")
	w.refused("is not an image", nil, io.Discard, image("empty", "--force")...)
}

// What somebody put in an output's place while the logs were read stays.
func TestOutputMeanwhile(t *testing.T) {
	w := newWorkshop(t)
	for _, c := range []struct{ flag, put string }{
		{"--html", "x.html"}, {"--save", "x.rgm"}, {"--parquet", "x.parquet"},
	} {
		stdin := io.MultiReader(strings.NewReader(w.read("d.log")), readerFunc(func([]byte) (int, error) {
			w.write(c.put, "mine")
			return 0, io.EOF
		}))
		status, stderr := w.run(stdin, io.Discard, "report", "-", c.flag, c.put)
		if status != exitFailure || !strings.Contains(stderr, c.flag+": "+c.put+" exists and is not a") || w.read(c.put) != "mine" {
			t.Errorf("%s: status %d: %s", c.flag, status, stderr)
		}
		if err := os.Remove(c.put); err != nil {
			t.Fatal(err)
		}
		// Nor is a link followed that came meanwhile.
		stdin = io.MultiReader(strings.NewReader(w.read("d.log")), readerFunc(func([]byte) (int, error) {
			w.link("m.rgm", c.put, "")
			return 0, io.EOF
		}))
		before := w.read("m.rgm")
		status, stderr = w.run(stdin, io.Discard, "report", "-", c.flag, c.put, "--force")
		if status != exitFailure || !strings.Contains(stderr, c.put+" has become a link") || w.read("m.rgm") != before {
			t.Errorf("%s: status %d: %s", c.flag, status, stderr)
		}
	}
	for _, out := range []string{"x.tar", "x"} {
		var said bytes.Buffer
		stderr := writerFunc(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte("packing /opa")) {
				if out == "x" {
					w.link("logs", out, "")
				} else {
					w.write(out, "mine")
				}
			}
			return said.Write(p)
		})
		before := w.state()
		status := run(t.Context(), []string{"build", "--unmodified", "--opa", w.tree, "--image", out}, nil, io.Discard, stderr)
		if status != exitFailure || !strings.Contains(said.String(), "--image: ") {
			t.Errorf("%s: status %d: %s", out, status, &said)
		}
		for name, text := range before {
			if after := w.state(); after[name] != text {
				t.Errorf("%s was changed", name)
			}
		}
	}
	entries, err := filepath.Glob(".regometer-*")
	if err != nil || len(entries) > 0 {
		t.Errorf("left %q, %v", entries, err)
	}
}

// Folders for what is kept hold nothing else.
func TestKeep(t *testing.T) {
	w := newWorkshop(t)
	w.refused("logs is not empty: name a new or an empty folder", nil, io.Discard, "demo", "--keep", "logs")
	for _, args := range []string{"--opa TREE", "-C PROGRAM"} {
		w.refused("logs holds something else than kept output (a.log): name a new or an empty folder", nil, io.Discard, append(w.args("verify "+args), "--keep", "logs")...)
	}
}

// A write-protected folder is found out before the work.
func TestOutputFolderIsReadOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a folder that not even root may write to")
	}
	w := newWorkshop(t)
	read := false
	stdin := readerFunc(func([]byte) (int, error) { read = true; return 0, io.EOF })
	w.refused("--html: cannot write to /proc", stdin, io.Discard, "report", "-", "--html", "/proc/x.html")
	if read {
		t.Error("the logs were read first")
	}
}

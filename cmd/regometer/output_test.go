// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/pflag"

	"github.com/regometer/regometer/cmd/regometer/internal/page"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

// outputFlags are all flags that name a file to write, each with a call of its
// command. In a call, TREE is an OPA. TestBuildProgramInPlace builds a program.
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
	{"report", "parquet", "d.log", ".parquet", beginsWith("PAR1"), "logs/a.log", "logs"},
	{"merge", "html", "m.rgm", ".html", page.IsPage, "m.rgm", "m.rgm"},
	{"merge", "save", "m.rgm", ".rgm", report.IsSaved, "m.rgm", "m.rgm"},
	{"replay", "html", "--policy policy d.log", ".html", page.IsPage, "d.log", "--policy policy d.log"},
	{"replay", "pprof", "--policy policy d.log", ".gz", isProfile, "policy/p.rego", "--policy policy d.log"},
	{"build", "output", "--unmodified --opa TREE", "", executableKind.is, "TREE/main.go", "--opa TREE"},
}

// otherFileFlags name a file or a folder that is read, or a folder for files
// that the command names. The command keeps the files in it, as TestRefused
// shows.
var otherFileFlags = []string{
	"collect config",
	"collect policy", "collect tls-ca", "collect tls-cert", "collect tls-key", "collect token-file",
	"build chdir", "build opa", "build write-source", "demo keep", "demo opa", "opa opa", "replay against", "replay config", "replay policy", "verify chdir", "verify opa", "verify packages",
}

// A new flag that names a file must be in one of the lists above.
func TestOutputFlags(t *testing.T) {
	listed := slices.Clone(otherFileFlags)
	for _, f := range outputFlags {
		listed = append(listed, f.command+" "+f.flag)
	}
	var found []string
	for _, cmd := range newRootCommand().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			usage := strings.ToLower(f.Usage)
			if f.Name != "force" && (strings.Contains(usage, "file") || strings.Contains(usage, "folder")) {
				found = append(found, cmd.Name()+" "+f.Name)
			}
		})
	}
	slices.Sort(listed)
	slices.Sort(found)
	if want := slices.Compact(listed); !slices.Equal(found, want) {
		t.Errorf("flags that name files are %q, want %q", found, want)
	}
}

// A workshop is a folder with inputs for all commands. It is the current one.
type workshop struct {
	dir, tree, program string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	w := &workshop{dir: t.TempDir(), tree: tinyOPA(t), program: t.TempDir()}
	t.Chdir(w.dir)
	write(filepath.Join(w.program, "go.mod"), "module example.com/program\n\ngo 1.22\n\nrequire github.com/open-policy-agent/opa v1.5.0\n\nreplace github.com/open-policy-agent/opa => "+w.tree+"\n")
	write(filepath.Join(w.program, "main.go"), "package main\n\nimport _ \"github.com/open-policy-agent/opa/v1/metrics\"\n\nfunc main() {}\n")
	write("d.log", succeed(t, "sample", "--decisions", "20"))
	write("logs/a.log", read("d.log"))
	write("policy/p.rego", "package p")
	succeed(t, "report", "d.log", "--save", "m.rgm")
	return w
}

// args returns the words of a call.
func (w *workshop) args(call string) []string {
	return strings.Fields(strings.NewReplacer("TREE", w.tree, "PROGRAM", w.program).Replace(call))
}

// refused makes a call that must fail and change nothing. A shell's "< FILE"
// may follow the call.
func (w *workshop) refused(t *testing.T, want, call string) {
	t.Helper()
	command, in, _ := strings.Cut(call, " < ")
	stdin := must(os.Open(cmp.Or(in, os.DevNull)))
	defer stdin.Close()
	before := w.state()
	var stderr bytes.Buffer
	status := run(t.Context(), w.args(command), stdin, io.Discard, &stderr)
	if status != exitFailure || !strings.Contains(stderr.String(), want) {
		t.Errorf("%s: status %d: %s, want %q", call, status, &stderr, want)
	}
	if after := w.state(); !maps.Equal(before, after) {
		t.Errorf("%s changed a file", call)
	}
}

// state returns the content of all files, and the targets of links.
func (w *workshop) state() map[string]string {
	all := map[string]string{}
	for _, dir := range []string{w.dir, w.tree, w.program} {
		noError(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Type()&fs.ModeSymlink != 0:
				all[path] = "-> " + must(os.Readlink(path))
			case d.IsDir():
				all[path] = "folder"
			default:
				all[path] = read(path)
			}
			return nil
		}))
	}
	return all
}

// Each output is under the same rules.
func TestOutputs(t *testing.T) {
	w := newWorkshop(t)
	for i, f := range outputFlags {
		t.Run(f.command+" "+f.flag+" "+strings.Fields(f.args)[0], func(t *testing.T) {
			name := func(n string) string { return n + string(rune('a'+i)) + f.suffix }
			flag := " --" + f.flag + " "
			call := f.command + " " + f.args + flag
			foreign, symlink, device := name("foreign"), name("symlink"), name("device")
			write(foreign, "mine")
			noError(os.Symlink(foreign, symlink), os.Symlink(os.DevNull, device))
			refused := map[string]string{
				foreign:                          flag[1:len(flag)-1] + ": " + foreign + " exists and is not a",
				symlink:                          flag[1:len(flag)-1] + ": " + symlink + " exists and is not a",
				filepath.Join("none", name("x")): "there is no folder none",
				device:                           "is no regular file, and would be replaced",
				"logs":                           "is a folder, and would be replaced",
				"-":                              "cannot write to standard output (-)",
			}
			for out, want := range refused {
				w.refused(t, want, call+out)
			}
			linked := name("linked")
			noError(os.Symlink(must(filepath.Abs(w.args(f.input)[0])), linked))
			for _, out := range []string{f.input, linked} {
				reads := f.command + " " + f.inputArgs + flag + out
				w.refused(t, " the input ", reads+" --force")
				w.refused(t, " the input ", reads)
			}

			empty := name("empty")
			write(empty, "")
			for _, out := range []string{name("new"), empty, empty, symlink + " --force"} {
				succeed(t, w.args(call+out)...)
			}
			for _, out := range []string{name("new"), empty, foreign} {
				if !f.is(out) {
					t.Errorf("%s is of another kind", out)
				}
			}
			if to := must(os.Readlink(symlink)); to != foreign {
				t.Errorf("the link leads to %q", to)
			}
		})
	}
}

// An output is never an input or another output, whatever its name and its
// links. It is never a file or folder of another kind.
func TestRefused(t *testing.T) {
	w := newWorkshop(t)
	succeed(t, w.args("build --unmodified --opa TREE -o opa")...)
	write("is", "")
	for link, to := range map[string]string{
		"symlink.log": "d.log", "more": "logs", "symlink": "is", "dangling": "none",
	} {
		noError(os.Symlink(to, link))
	}
	noError(os.Link("d.log", "link.log"))
	for _, c := range []struct{ call, want string }{
		{"report --save link.log d.log --force", "--save: link.log is also the input d.log"},
		{"report --html logs/a.log logs", "--html: logs/a.log is also the input logs/a.log"},
		{"report --html logs/a.log more --force", "--html: logs/a.log is also the input more/a.log"},
		{"report --parquet logs/../logs/a.log logs", "is also the input logs/a.log"},
		{"report - --save d.log < d.log", "--save: d.log is also standard input"},
		{"report - --save symlink.log --force < link.log", "--save: symlink.log is also standard input"},
		{"report d.log --html x --save x", "--save: x is also the output of --html: name another file"},
		{"report d.log --html x --save logs/../x --force", "--save: logs/../x is also the output of --html"},
		{"report d.log --html more/x --save logs/x", "--save: logs/x is also the output of --html"},
		{"report d.log --html is --parquet symlink", "--parquet: symlink is also the output of --html"},
		{"merge m.rgm --html ./x --save x", "is also the output of --html"},

		{"report d.log --save=", "--save: it is empty"},
		{"build -o dangling --force", "which does not exist"},
		{"build -o none/opa", "there is no folder none"},
		{"build -o m.rgm/x", "not a directory"},
		{"build --write-source logs", "logs is not empty: name a new or empty folder"},
		{"build --opa TREE --write-source TREE", "is not empty: name a new or empty folder"},
		{"demo --keep logs", "logs is not empty: name a new or empty folder"},
		{"report missing.log --parquet x.parquet", "missing.log"},
		{"report d.log --parquet /proc/x.parquet", "--parquet: cannot write to /proc"},
	} {
		if !strings.Contains(c.call, "/proc") || runtime.GOOS == "linux" {
			w.refused(t, c.want, c.call)
		}
	}

	bundle := must(os.Create("bundle.tar.gz"))
	packed := gzip.NewWriter(bundle)
	_ = must(packed.Write([]byte("p.rego")))
	noError(packed.Close(), bundle.Close())
	w.refused(t, "--pprof: bundle.tar.gz exists and is not a profile", "replay --policy policy d.log --pprof bundle.tar.gz")
}

// A program is put where go build puts it, and replaces nothing else there.
func TestBuildProgramInPlace(t *testing.T) {
	w := newWorkshop(t)
	write("program", "mine")
	w.refused(t, "--output: program exists and is not an executable", "build -C PROGRAM .")
	noError(os.Remove("program"))
	for range 2 {
		succeed(t, w.args("build -C PROGRAM .")...)
	}
	if mode := must(os.Stat("program")).Mode().Perm(); !executableKind.is("program") || mode != 0o755 {
		t.Errorf("mode %v", mode)
	}
	t.Chdir(w.program) // a binary may be where its source is
	for range 2 {
		succeed(t, "build", ".")
	}
}

// If the reader of standard output leaves, or standard output is full, the
// command writes the files all the same.
func TestReaderLeaves(t *testing.T) {
	newWorkshop(t)
	reader, writer, err := os.Pipe()
	noError(err, reader.Close())
	cmd := command(t, "report", "d.log", "--html", "piped.html")
	cmd.Stdout = writer
	if err := cmd.Run(); err == nil {
		t.Error("the command did not notice that nobody reads")
	}
	noError(writer.Close())
	status := run(t.Context(), []string{"merge", "m.rgm", "--html", "full.html", "--save", "full.rgm"}, strings.NewReader(""), cutAfter(0), io.Discard)
	if status != exitFailure {
		t.Errorf("status %d with a full disk", status)
	}
	if !page.IsPage("piped.html") || !page.IsPage("full.html") || !report.IsSaved("full.rgm") {
		t.Error("a file is missing")
	}
}

// cutAfter returns a writer that fails after n bytes.
func cutAfter(n int) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if n -= len(p); n < 0 {
			return 0, syscall.ENOSPC
		}
		return len(p), nil
	})
}

// If the last byte of standard output cannot be written, the command fails.
func TestStandardOutputCut(t *testing.T) {
	w := newWorkshop(t)
	succeed(t, w.args("build --unmodified --opa TREE -o opa")...)
	write(filepath.Join(w.program, "main_test.go"), "package main\n\nimport \"testing\"\n\nfunc TestNone(*testing.T) {}\n")
	for _, c := range []string{
		"--help", "--version", "version opa", "sample --decisions 5", "build --unmodified --opa TREE -o opa", "verify -C PROGRAM",
		"report d.log", "report d.log --format json", "report d.log --format markdown", "merge m.rgm", "compare m.rgm m.rgm", "compare m.rgm m.rgm --format junit",
		"replay --policy policy --format junit d.log", // the table has times, whose length varies
	} {
		size := len(succeed(t, w.args(c)...))
		if status := run(t.Context(), w.args(c), strings.NewReader(""), cutAfter(size-1), io.Discard); status != exitFailure && size > 0 {
			t.Errorf("%s: status %d without its last byte", c, status)
		}
	}
}

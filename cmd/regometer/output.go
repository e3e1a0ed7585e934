// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
	"github.com/regometer/regometer/cmd/regometer/internal/page"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

// outputs are the files that the user named and the command writes. The command
// checks each output before the work begins. An output must not be an input or
// another output. Without --force it replaces only a file of its own kind.
type outputs struct {
	force bool
	all   []*outputFile
}

// An outputFile is a file that the command writes.
type outputFile struct {
	outputs *outputs
	flag    string // such as "--html"
	name    string // as the user wrote it; "" if there is no output
	path    string // the target of all links
	kind    kind
}

// A kind is a kind of file.
type kind struct {
	name string                 // in messages, after "is not"
	is   func(path string) bool // whether a file is of the kind
	mode fs.FileMode            // of a new file; 0 keeps the mode of a replaced file
}

var (
	pageKind    = kind{name: "a page that regometer wrote", is: page.IsPage}
	savedKind   = kind{name: "a saved report", is: report.IsSaved}
	parquetKind = kind{name: "a Parquet file", is: beginsWith("PAR1")}
	profileKind = kind{name: "a profile", is: isProfile}
	// The files that go build replaces, except archives of packages.
	executableKind = kind{name: "an executable", mode: 0o755, is: beginsWith(
		"\x7fELF",
		"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", // macOS
		"MZ\x90\x00\x03\x00", "MZ\x78\x00\x01\x00", // Windows
		"\x00\x00\x01\xeb", "\x00\x00\x8a\x97", "\x00\x00\x06\x47", // Plan 9
		"\x00asm",
		"\x01\xdf", "\x01\xf7", // AIX
	)}
)

// beginsWith returns a function that reports whether a file begins with one of
// the heads.
func beginsWith(heads ...string) func(path string) bool {
	return func(path string) bool {
		begin := outfile.Head(path)
		return slices.ContainsFunc(heads, func(head string) bool { return strings.HasPrefix(begin, head) })
	}
}

// isProfile reports whether a file is a profile for pprof, and not something
// else that gzip compressed, such as a bundle.
func isProfile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = profile.Parse(io.LimitReader(f, 256<<20))
	return err == nil
}

// outputHelp is part of the help of each command with outputs.
const outputHelp = `The command never writes to its inputs. It replaces a file only if the file is empty
or of the same kind: a page replaces a page, a saved report a saved report, a binary a
binary. --force also replaces files of other kinds.`

// newOutputs returns the outputs of a command, and adds the flag --force to it.
func newOutputs(cmd *cobra.Command) *outputs {
	o := new(outputs)
	cmd.Flags().BoolVar(&o.force, "force", false, "also replace files of other kinds, but never an input")
	return o
}

// flag adds a flag that names an output, and returns the output. usage has the
// placeholder in backticks.
func (o *outputs) flag(cmd *cobra.Command, name, shorthand string, k kind, usage string) *outputFile {
	f := &outputFile{outputs: o, flag: "--" + name, kind: k}
	o.all = append(o.all, f)
	cmd.Flags().StringVarP(&f.name, name, shorthand, "", usage)
	return f
}

// check returns an error if an output must not be written. The inputs have these
// names, and are these files, which the system was asked about.
func (o *outputs) check(cmd *cobra.Command, names []string, inputs ...report.InputFile) error {
	for _, name := range names {
		info, _ := os.Stat(name) // nil without a file, which its reader reports
		inputs = append(inputs, report.InputFile{Name: name, Info: info})
	}
	paths := map[string]string{} // flags by path
	for _, f := range o.all {
		if f.name == "" && !cmd.Flags().Changed(strings.TrimPrefix(f.flag, "--")) {
			continue
		}
		err := f.begin(cmd, inputs)
		if other := paths[f.path]; err == nil && other != "" {
			err = fmt.Errorf("%s is also the output of %s: name another file", f.name, other)
		}
		if err != nil {
			return f.flagged(err)
		}
		paths[f.path] = f.flag
	}
	return nil
}

// standardOutput keeps the first error, so that the command fails even if what
// writes there ignores it.
type standardOutput struct {
	io.Writer
	err error
}

func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// fileOf returns the file that a stream is, or nil.
func fileOf(stream any) *os.File {
	if o, ok := stream.(*standardOutput); ok {
		stream = o.Writer
	}
	f, _ := stream.(*os.File)
	return f
}

// flagged adds the name of the flag to an error, unless the error is nil.
func (f *outputFile) flagged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.flag, err)
}

// begin finds the output's path. It fails if the output must not or cannot be
// written there.
func (f *outputFile) begin(cmd *cobra.Command, inputs []report.InputFile) (err error) {
	switch f.name {
	case "": // often a variable that is not set
		return errors.New("it is empty: name a file")
	case "-":
		return errors.New("cannot write to standard output (-): name a file, or ./- for a file with this name")
	}
	if f.path, err = outfile.Resolve(f.name); err == nil {
		f.path, err = filepath.Abs(f.path)
	}
	if err != nil {
		return err
	}
	if err := outfile.Check(f.path); err != nil {
		return fmt.Errorf("cannot write to %s: %w", filepath.Dir(f.path), err)
	}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, in := range inputs {
		name := "the input " + in.Name
		if in.Name == "-" {
			name = "standard input"
			in.Info, _ = fileOf(cmd.InOrStdin()).Stat() // a nil file fails
		}
		isPart := in.Info != nil && (!in.Info.IsDir() || info.Size() > 0 && !f.kind.is(f.path))
		if err == nil && isPart && isIn(f.path, in.Info) {
			return fmt.Errorf("%s is also %s: name another file", f.name, name)
		}
	}
	if err == nil && info.Size() > 0 && !f.outputs.force && !f.kind.is(f.path) {
		err = fmt.Errorf("%s exists and is not %s: name another file, or use --force", f.name, f.kind.name)
	}
	return err
}

// isIn reports whether a path leads to a file, or into a folder.
func isIn(path string, input fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, input) || path != filepath.Dir(path) && isIn(filepath.Dir(path), input)
}

// write writes the file and puts it in its place. It does nothing if the user
// named no file.
func (f *outputFile) write(content func(io.Writer) error) error {
	if f.name == "" {
		return nil
	}
	return f.flagged(outfile.WriteFrom(f.path, f.kind.mode, content))
}

// copy writes the content of another file to the output.
func (f *outputFile) copy(from string) error {
	return f.write(func(w io.Writer) error {
		in, err := os.Open(from)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(w, in)
		return err
	})
}

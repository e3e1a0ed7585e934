// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
)

// A workFile is the output of `go work edit -json`. The output of
// `go mod edit -json` has some of the same members.
type workFile struct {
	Go, Toolchain string
	GoDebug       []struct{ Key, Value string }
	Use           []struct{ DiskPath string }
	Replace       []struct {
		Old, New struct{ Path, Version string }
	}
}

// besideWork is the path of the copy, relative to its go.work. A binary
// contains this path, so it must not depend on the cache's folder.
const besideWork = "../opa"

// A listedModule is the output of go list for a module.
type listedModule struct {
	Path, Version, Dir, GoMod string
	Main                      bool
	Replace                   *listedModule
}

// listJSON runs a go command that prints JSON and decodes it. A pointer to a
// slice gets all values, one after another.
func listJSON[T any](ctx context.Context, c gotool.Command, to *T) error {
	out, err := c.Output(ctx)
	if err != nil {
		return err
	}
	text := string(out)
	if _, ok := any(to).(*[]listedModule); ok {
		text = "[" + strings.ReplaceAll(strings.TrimSpace(text), "}\n{", "},\n{") + "]"
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fmt.Errorf("go %s printed no JSON: %w", c.Args[0], err)
	}
	return nil
}

// modules are those of a program and of the OPA that it selects.
type modules struct {
	dir    string // where the go command runs
	gowork string // the go.work that the program is built with, or ""
	mod    string // the go.mod of the module that dir is in, or ""
	opa    listedModule
	source source // of that OPA
}

// writeWork writes a go.work that selects the same modules as the program's
// go.work or, without one, the program's module. If copied is true, OPA is the
// copy beside the folder of the file.
func (p *modules) writeWork(ctx context.Context, file string, copied bool) error {
	var w workFile
	base, edit := filepath.Dir(p.gowork), []string{"work", "edit", "-json", p.gowork}
	if p.gowork == "" {
		base, edit = filepath.Dir(p.mod), []string{"mod", "edit", "-json", p.mod}
	}
	if err := listJSON(ctx, gotool.Command{Dir: p.dir, Args: edit, UserEnv: true}, &w); err != nil {
		return err
	}
	if p.gowork == "" {
		// The replacements of go.mod count in a workspace as they are.
		w.Replace, w.Use = nil, []struct{ DiskPath string }{{"."}}
	}
	abs := func(name string) string {
		if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
			name = filepath.Join(base, name)
		}
		return name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "go %s\n", w.Go)
	if w.Toolchain != "" {
		fmt.Fprintf(&b, "toolchain %s\n", w.Toolchain)
	}
	for _, d := range w.GoDebug {
		fmt.Fprintf(&b, "godebug %s=%s\n", d.Key, d.Value)
	}
	for _, u := range w.Use {
		dir := abs(u.DiskPath)
		if copied && p.opa.Main && dir == p.source.dir {
			dir = besideWork
		}
		fmt.Fprintf(&b, "use %s\n", strconv.Quote(dir))
	}
	for _, r := range w.Replace {
		if copied && r.Old.Path == opaModule && r.Old.Version == p.opa.Version {
			continue
		}
		to := strconv.Quote(r.New.Path) + " " + r.New.Version
		if r.New.Version == "" {
			to = strconv.Quote(abs(r.New.Path))
		}
		fmt.Fprintf(&b, "replace %s %s => %s\n", r.Old.Path, r.Old.Version, to)
	}
	if copied && !p.opa.Main { // a module of the workspace itself cannot be replaced
		// Replace only this version, because the requirements of other versions
		// count when Go selects versions.
		fmt.Fprintf(&b, "replace %s %s => %s\n", opaModule, p.opa.Version, besideWork)
	}
	if err := outfile.Write(file, []byte(b.String())); err != nil {
		return err
	}
	if sums, err := os.ReadFile(p.gowork + ".sum"); err == nil && p.gowork != "" {
		return outfile.Write(file+".sum", sums)
	}
	return nil
}

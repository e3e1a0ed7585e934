// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/gotool"
	"github.com/regometer/regometer/internal/app/outfile"
)

// A workFile is what `go work edit -json` prints, and of `go mod edit -json`
// what a workspace takes over from its module.
type workFile struct {
	Go, Toolchain string
	GoDebug       []struct{ Key, Value string }
	Use           []struct{ DiskPath string }
	Replace       []struct {
		Old, New struct{ Path, Version string }
	}
}

// patched returns the side in which the copy is in OPA's place. Its go.work, if
// it needs one, and its overlay are in the folder work, which the caller
// removes; who adds to the overlay writes it anew.
func (pr *program) patched(ctx context.Context, tree cachedTree) (s side, o *overlay, work string, err error) {
	if o, err = pr.overlay(tree.dir); err != nil {
		return s, nil, "", err
	}
	if work, err = tree.workDir(); err != nil {
		return s, nil, "", err
	}
	s = pr.side()
	s.flags = []string{"-overlay=" + o.file(work)}
	if err = o.write(work); err == nil && pr.vendor == "" {
		file := filepath.Join(work, "go.work")
		err = pr.writeWork(ctx, file, true)
		// Whatever GOFLAGS says: a workspace takes no -mod=mod.
		s.flags = append(s.flags, "-mod=readonly")
		s.env = append(s.env, "GOWORK="+file)
	} else if pr.flags.mod != "" {
		s.flags = append(s.flags, "-mod="+pr.flags.mod)
	}
	if err != nil {
		_ = removeAll(work)
	}
	return s, o, work, err
}

// writeWork writes a go.work that selects what the program's own does, or its
// module without one, but, if copied, for OPA: that is the copy beside the
// folder of the file.
func (pr *program) writeWork(ctx context.Context, file string, copied bool) error {
	var w workFile
	base, edit := filepath.Dir(pr.work), []string{"work", "edit", "-json", pr.work}
	if pr.work == "" {
		base, edit = filepath.Dir(pr.mod), []string{"mod", "edit", "-json", pr.mod}
	}
	if err := listJSON(ctx, gotool.Command{Dir: pr.dir, Args: edit, UserEnv: true}, &w); err != nil {
		return err
	}
	if pr.work == "" {
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
		if copied && pr.opa.Main && dir == pr.opaDir {
			dir = besideWork
		}
		fmt.Fprintf(&b, "use %s\n", strconv.Quote(dir))
	}
	for _, r := range w.Replace {
		if copied && r.Old.Path == opaModule && r.Old.Version == pr.opa.Version {
			continue
		}
		to := strconv.Quote(r.New.Path) + " " + r.New.Version
		if r.New.Version == "" {
			to = strconv.Quote(abs(r.New.Path))
		}
		fmt.Fprintf(&b, "replace %s %s => %s\n", r.Old.Path, r.Old.Version, to)
	}
	if copied && !pr.opa.Main { // one of the workspace's own cannot be replaced
		// This version alone: what other modules ask for of others counts too
		// when versions are selected.
		fmt.Fprintf(&b, "replace %s %s => %s\n", opaModule, pr.opa.Version, besideWork)
	}
	if err := outfile.Write(file, []byte(b.String())); err != nil {
		return err
	}
	if pr.work == "" {
		return nil
	}
	sums, err := os.ReadFile(pr.work + ".sum")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return outfile.Write(file+".sum", sums)
}

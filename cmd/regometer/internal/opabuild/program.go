// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// The user's go command builds and tests a program with OPA inside in the
// program's own folder, with three things from outside:
//
//   - A patched copy of the OPA that the program's go.mod or go.work selects,
//     in the cache.
//   - A go.work outside of the module, whose replace directive puts the copy
//     in OPA's place: see workspace.go. A vendored program needs neither: there
//     the overlay has the changed files of OPA.
//   - An overlay, which makes the go command read files that do not exist: the
//     record of the build, and the plugin as packages of the program. See
//     overlay.go.
//
// So the user's files and the versions of all modules stay the same. OPA
// itself is a program too, whose main package is in the copy.

// A Program is a program that has OPA inside, or OPA itself.
type Program struct {
	Name    string   // of the file that go build writes
	Folders []string // of the user's modules, which the build reads

	parts
	modules
	self       bool // it is OPA itself
	sourceOnly bool // nothing is compiled
	noWasm     bool // as in Options
	flags      buildFlags
	added      []string // to the environment of the go command
	work       string   // a folder for temporary files
	tree       string   // of the patched OPA, or "" if it is vendored
	asIsWork   string   // a copy of gowork for the unmodified program, or ""
	vendor     string   // the vendor folder that it is built with, or ""
	version    string   // of that OPA
	main       mainPackage
	env        map[string]string // of targetVariables, and GOMODCACHE
	temps      []string          // folders to remove in the end
	progress   progress
}

// targetVariables are the variables that the binary depends on, besides the
// sources.
var targetVariables = []string{
	"GOVERSION", "GOTOOLCHAIN", "CGO_ENABLED", "GOOS", "GOARCH", "GOEXPERIMENT", "GOFIPS140",
	"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM",
}

// goEnv returns the values of targetVariables, and of the named variables, for
// a command.
func goEnv(ctx context.Context, c gotool.Command, names ...string) (env map[string]string, err error) {
	c.Args = slices.Concat([]string{"env", "-json"}, names, targetVariables)
	return env, listJSON(ctx, c, &env)
}

// OpenProgram finds a program and the OPA inside. The caller must close the
// program. OpenProgram fails if there is no such program, or if its OPA is too
// old.
func OpenProgram(ctx context.Context, o Options) (*Program, error) {
	p, err := openModule(ctx, o)
	if err == nil {
		p.main, err = p.mainPackage(ctx, cmp.Or(o.Package, "."))
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Name = p.main.binary(p.env["GOOS"])
	if r := p.opa.Replace; r != nil && r.Version == "" {
		p.Folders = append(p.Folders, p.source.dir)
	}
	return p, nil
}

// Close removes the binary that Build returned, and all temporary files.
func (p *Program) Close() {
	for _, dir := range p.temps {
		_ = removeAll(dir)
	}
}

// openModule finds the OPA that the module or workspace in o.Dir selects. The
// caller closes the program even if openModule fails.
func openModule(ctx context.Context, o Options) (p *Program, err error) {
	p = &Program{progress: progress{o.Progress, time.Now()}}
	if p.parts, err = o.parts(); err != nil {
		return p, err
	}
	if p.dir, err = filepath.Abs(cmp.Or(o.Dir, ".")); err != nil {
		return p, err
	}
	if info, err := os.Stat(p.dir); err != nil || !info.IsDir() {
		return p, fmt.Errorf("there is no folder %s: name a folder of the program's module with -C", p.dir)
	}
	if p.env, err = goEnv(ctx, p.side().command(""), "GOFLAGS", "GOMOD", "GOMODCACHE", "GOWORK"); err != nil {
		return p, err
	}
	if p.flags, err = readFlags(o.Flags, p.env["GOFLAGS"]); err != nil {
		return p, err
	}
	if p.gowork = p.env["GOWORK"]; p.gowork == "off" {
		p.gowork = ""
	}
	if p.mod = p.env["GOMOD"]; p.mod == os.DevNull {
		p.mod = ""
	}
	if p.mod == "" && p.gowork == "" {
		return p, fmt.Errorf("%s is not in a Go module: name a folder of the program's module with -C", p.dir)
	}
	if p.work, err = os.MkdirTemp("", "regometer-"); err != nil {
		return p, withHint(err)
	}
	p.temps = append(p.temps, p.work)
	if _, err := os.Stat(filepath.Join(filepath.Dir(p.gowork), "vendor", "modules.txt")); p.gowork != "" && err != nil {
		// In a workspace the go command adds missing lines to go.work.sum. A
		// copy keeps the user's file as it is.
		file := filepath.Join(p.work, "go.work")
		if err := p.writeWork(ctx, file, false); err != nil {
			return p, err
		}
		p.asIsWork = file
	}
	var modules []listedModule
	if err := listJSON(ctx, p.asIs().command("list", "-m", "-json"), &modules); err != nil {
		return p, err
	}
	for _, m := range modules {
		if m.Path == opaModule && m.GoMod == p.mod {
			return p, fmt.Errorf("%s is OPA itself, not a program with OPA inside: use --opa %s, without -C and PACKAGE", p.dir, p.dir)
		}
		p.Folders = append(p.Folders, m.Dir)
	}
	return p, p.findOPA(ctx)
}

// side returns the common part of both sides.
func (p *Program) side() side {
	return side{dir: p.dir, env: slices.Clone(p.added), userEnv: !p.self}
}

// asIs returns the side without anything of ours. It uses -mod=readonly instead
// of -mod=mod, which may change go.mod; neither reads the vendor folder.
func (p *Program) asIs() side {
	s := p.side()
	if p.asIsWork != "" {
		s.env = append(s.env, "GOWORK="+p.asIsWork)
	}
	switch {
	case p.self || p.flags.mod == "mod":
		s.flags = append(s.flags, "-mod=readonly")
	case p.flags.mod != "":
		s.flags = append(s.flags, "-mod="+p.flags.mod)
	}
	return s
}

// findOPA finds the OPA that the program selects.
func (p *Program) findOPA(ctx context.Context) error {
	pkg, err := p.list(ctx, metricsPath)
	if err != nil {
		return err
	}
	if pkg.Module == nil || pkg.Dir == "" {
		return fmt.Errorf("the go command finds no package %s, which OPA %s and later have, for %s: %s", metricsPath, OldestVersion, cmp.Or(p.gowork, p.mod), pkg.Error.Err)
	}
	p.opa = *pkg.Module
	dir := filepath.Dir(filepath.Dir(pkg.Dir))
	vendored := string(filepath.Separator) + filepath.Join("vendor", opaModule)
	if strings.HasSuffix(dir, vendored) && p.opa.Dir == "" {
		p.vendor = strings.TrimSuffix(dir, filepath.FromSlash(opaModule))
	}
	// A vendored OPA may lack the package version.
	p.version = strings.TrimPrefix(p.opa.Version, "v")
	if version, err := treeVersion(dir); err == nil {
		p.version = version
	}
	p.progress.printf("found OPA %s in %s", p.version, dir)
	warning, err := checkRange(p.version)
	if err != nil {
		return err
	}
	if warning != "" {
		p.progress.printf("warning: %s", warning)
	}
	hash, err := hashTree(ctx, dir)
	p.source = source{name: "OPA " + p.version, dir: dir, content: "folder " + hash}
	return withHint(err)
}

// patched returns the side with a change of OPA and with files added to the
// main package.
func (p *Program) patched(ctx context.Context, change, added replacement) (s side, err error) {
	s = p.side()
	if p.self {
		maps.Copy(change, added)
	}
	p.tree = p.source.dir
	if p.self && p.none() && p.source.version != "" {
		s.dir, s.flags = p.tree, []string{"-mod=readonly"} // nothing changes it
		return s, nil
	}
	if p.vendor == "" {
		c, err := openCache()
		if err != nil {
			return s, err
		}
		whole := p.sourceOnly || !p.self // a program may import any package
		key := hashAll(p.source.content, dropIn(change).hash(), whole)[:32]
		p.tree, err = c.get(ctx, trees, key, "opa", p.progress, func(_, to string) error {
			return p.source.write(ctx, to, change, whole, p.progress)
		})
		if err != nil {
			return s, err
		}
	}
	if p.self {
		s.dir, s.flags = p.tree, []string{"-mod=readonly"}
		return s, nil
	}
	o := &overlay{p.work, map[string]string{}}
	if p.vendor == "" {
		if o.work, err = os.MkdirTemp(filepath.Dir(p.tree), "work-"); err != nil {
			return s, withHint(err)
		}
		p.temps = append(p.temps, o.work)
		file := filepath.Join(o.work, "go.work")
		// This overrides GOFLAGS, because a workspace does not support
		// -mod=mod.
		s.flags, s.env = append(s.flags, "-mod=readonly"), append(s.env, "GOWORK="+file)
		err = p.writeWork(ctx, file, true)
	} else {
		if p.flags.mod != "" {
			s.flags = append(s.flags, "-mod="+p.flags.mod)
		}
		err = o.add(p.source.dir, change)
	}
	s.flags = append(s.flags, "-overlay="+o.file())
	if err == nil && len(added) > 0 {
		err = o.add(p.main.Dir, added)
	}
	if err == nil {
		err = o.write()
	}
	return s, withHint(err)
}

// A mainPackage is the output of go list for a package, usually the one that is
// built.
type mainPackage struct {
	ImportPath, Name, Dir, Target string
	Module                        *listedModule
	GoFiles, Deps                 []string
	Error                         struct{ Err string }
	DepsErrors                    []struct{ Err string }
}

// list returns the output of go list for a package.
func (p *Program) list(ctx context.Context, name string) (pkg mainPackage, err error) {
	args := slices.Concat(p.flags.list(), []string{"-e", "-json=ImportPath,Name,Dir,Target,Module,GoFiles,Deps,Error,DepsErrors", "--", name})
	err = listJSON(ctx, p.asIs().command("list", args...), &pkg)
	if pkg.Error.Err == "" && len(pkg.DepsErrors) > 0 {
		pkg.Error = pkg.DepsErrors[0]
	}
	return pkg, err
}

// mainPackage returns the main package with this name.
func (p *Program) mainPackage(ctx context.Context, name string) (pkg mainPackage, err error) {
	if strings.HasSuffix(name, ".go") || strings.Contains(name, "...") {
		return pkg, fmt.Errorf("%s is not the name of one package: name the folder or the import path of a main package", name)
	}
	if pkg, err = p.list(ctx, name); err != nil {
		return pkg, err
	}
	switch {
	case pkg.Error.Err != "": // its imports are unknown
		return pkg, withHint(fmt.Errorf("the go command cannot build %s: %s", name, pkg.Error.Err))
	case pkg.Module == nil || !pkg.Module.Main:
		return pkg, fmt.Errorf("%s is not in the module in %s, nor in its workspace: name one of its main packages, such as ./cmd/x", name, p.dir)
	case pkg.Name != "main":
		return pkg, fmt.Errorf("%s is package %s, not a main package: name a main package, such as ./cmd/x", name, pkg.Name)
	case !slices.Contains(pkg.Deps, metricsPath):
		return pkg, fmt.Errorf("%s has no OPA inside: it does not import %s, directly or indirectly", name, metricsPath)
	}
	return pkg, nil
}

// binary returns the name of the file that go build writes.
func (m mainPackage) binary(goos string) string {
	if m.Target != "" {
		return filepath.Base(m.Target)
	}
	if goos == "windows" {
		return path.Base(m.ImportPath) + ".exe"
	}
	return path.Base(m.ImportPath)
}

// wantsPlugin reports whether the plugin has an effect in the program. If it
// has none, wantsPlugin prints the reason.
func (m mainPackage) wantsPlugin(p progress) bool {
	switch {
	case slices.Contains(m.Deps, ourModule+"/opa/plugin"):
		p.printf("without the plugin: the program has Regometer's plugin already")
	case !slices.Contains(m.Deps, opaModule+"/v1/runtime"):
		p.printf("without the plugin: the program does not use OPA's runtime; see %s", text.Documents+"embedding.md")
	default:
		return true
	}
	return false
}

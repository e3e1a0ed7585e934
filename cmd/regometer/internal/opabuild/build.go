// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package opabuild builds Open Policy Agent (OPA), and programs with OPA
// inside, with the parts of Regometer. These are the drop-in, which is package
// metrics instead of OPA's v1/metrics, the plugin, and a hook in OPA's runtime
// that hands the plugin each decision. The package also puts the drop-in into
// an OPA checkout, and runs OPA's own tests with and without it.
//
// It runs the user's go command and needs nothing else. It keeps the results in
// a cache, which is the folder $REGOMETER_CACHE or, by default, "regometer" in
// the user's cache folder. The folder may be deleted at any time.
package opabuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

// buildFlagsOfOPA are the flags of OPA's Makefile, and -trimpath. With
// -trimpath, builds in different folders are the same and share Go's build
// cache.
var buildFlagsOfOPA = []string{"-buildvcs=false", "-buildmode=exe", "-trimpath"}

// buildTags returns the flag with the tag of OPA's Makefile, opa_wasm, and more
// tags. Earlier releases run WebAssembly with a module in C. They are built
// without opa_wasm, as OPA's own static binaries were.
func buildTags(tree string, more ...string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if !bytes.Contains(mod, []byte("github.com/bytecodealliance/wasmtime-go")) {
		more = append([]string{"opa_wasm"}, more...)
	}
	return "-tags=" + strings.Join(more, ","), err
}

// Build returns the path of an opa binary, a file in the cache. The caller must
// use it soon and must not change it.
//
// It uses the binary in the cache if there is one. A change of OPA, the
// drop-in, the plugin, Go or its settings makes a new binary. Calls may run at
// the same time, in one process or in several. They build one after another. If
// ctx is cancelled, the build stops and leaves nothing.
//
// Build refuses an OPA older than [OldestVersion]. It tries an OPA newer than
// [NewestRange], with a warning. If the decision hook or a fix does not fit
// this OPA, the binary lacks it, and a line of progress says so. [Inspect] says
// what a binary contains.
func Build(ctx context.Context, o Options) (path string, err error) {
	p, err := openOPA(ctx, o)
	if err != nil {
		return "", err
	}
	c, err := openCache()
	if err != nil {
		return "", err
	}
	values := []any{p.source.content, p.content(), p.flags.all, p.noWasm}
	for _, name := range targetVariables {
		values = append(values, p.env[name])
	}
	return c.get(ctx, binaries, hashAll(values...)[:32], p.Name, p.progress, func(scratch, to string) error {
		return p.buildOPA(ctx, scratch, to)
	})
}

// WriteSource writes the source that [Build] would build to dir, a new or empty
// folder. It compiles nothing. The source is a whole module, for people with a
// build of their own.
func WriteSource(ctx context.Context, o Options, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: name a new or empty folder", dir))
	}
	p, err := openOPA(ctx, o)
	if err != nil {
		return err
	}
	p.sourceOnly = true
	if err := p.buildOPA(ctx, "", ""); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return withHint(err)
	}
	return withHint(copyTree(ctx, dir, p.tree, true))
}

// openOPA finds OPA's source and the settings of its build.
func openOPA(ctx context.Context, o Options) (p *Program, err error) {
	p = &Program{Name: "opa", self: true, noWasm: o.NoWasm, progress: progress{o.Progress, time.Now()}}
	if p.parts, err = o.parts(); err != nil {
		return nil, err
	}
	if p.source, err = findSource(ctx, o.OPA); err != nil {
		return nil, err
	}
	p.flags.all, p.added = o.settings()
	if p.env, err = goEnv(ctx, gotool.Command{Env: p.added}); err != nil {
		return nil, err
	}
	if p.env["GOOS"] == "windows" {
		p.Name = "opa.exe"
	}
	var ldflags []string
	if revision := p.source.commit(ctx, !p.none()); revision != "" {
		ldflags = append(ldflags, "-X "+opaModule+"/v1/version.Vcs="+revision)
	}
	if o.Local { // without information for debuggers it builds faster
		ldflags = append(ldflags, "-s")
		if !p.none() {
			p.flags.all = append(p.flags.all, "-gcflags="+opaModule+"/...=-dwarf=false")
		}
	}
	p.flags.all = append(p.flags.all, "-ldflags="+strings.Join(ldflags, " "))
	return p, nil
}

// settings returns flags and variables of go build. If o.Local is true, packages
// are compiled as in this program, and for its machine, whatever GOOS and GOARCH
// are for other builds.
func (o Options) settings() (flags, env []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok || !o.Local {
		return slices.Clone(buildFlagsOfOPA), []string{"CGO_ENABLED=0"}
	}
	flags, env = []string{"-buildvcs=false"}, []string{"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}
	for _, s := range info.Settings {
		switch {
		case s.Key == "-trimpath" && s.Value == "true":
			flags = append(flags, "-trimpath")
		case s.Key == "CGO_ENABLED" && s.Value == "0": // else it is Go's default, if there is a C compiler
			env = append(env, "CGO_ENABLED=0")
		}
	}
	return flags, env
}

// buildOPA builds OPA itself, as a program that consists of the patched copy.
func (p *Program) buildOPA(ctx context.Context, scratch, to string) error {
	defer p.Close()
	p.work = scratch
	p.progress.printf("getting %s", p.source.name)
	version, warning, err := p.source.fetch(ctx)
	if err != nil {
		return err
	}
	if warning != "" && p.dropIn != nil {
		p.progress.printf("warning: %s", warning)
	}
	if !p.noWasm {
		tags, err := buildTags(p.source.dir)
		if err != nil {
			return err
		}
		p.flags.all = append(p.flags.all, tags)
	}
	p.dir, p.version = p.source.dir, version
	if p.main, err = p.list(ctx, "."); err != nil {
		return err
	}
	return p.build(ctx, to)
}

// rangeHint follows an error of the compiler about OPA with the drop-in.
var rangeHint = "\nThe drop-in supports OPA " + OldestVersion + " to " + NewestRange + ". Use one of these if this OPA builds without the drop-in."

// errorIn returns the first line of the compiler's errors in one of the
// packages, or "". The go command names the package before its errors.
func errorIn(err error, packages ...string) string {
	for _, pkg := range packages {
		_, lines, _ := strings.Cut(err.Error(), "\n# "+pkg+"\n")
		if line, _, _ := strings.Cut(lines, "\n"); line != "" {
			return line
		}
	}
	return ""
}

// Build builds the program, with the drop-in instead of its OPA's package
// v1/metrics, and returns the path of the binary.
//
// If the program uses OPA's runtime, it gets the plugin and the decision hook
// too. Nothing in the program's folder changes. The build uses the user's
// flags, environment, workspace, replacements and vendor folder. Build fails if
// the binary lacks the drop-in.
func (p *Program) Build(ctx context.Context) (string, error) {
	binary := filepath.Join(p.work, p.Name)
	return binary, p.build(ctx, binary)
}

// build runs go build, which writes the file binary. It leaves out parts that
// do not compile or lack a package.
func (p *Program) build(ctx context.Context, binary string) error {
	r := Record{Regometer: regometerVersion(), OPA: p.version, Upstream: p.upstream()}
	if p.dropIn != nil {
		r.DropIn = p.dropIn.hash()
	}
	r.Plugin = p.plugin != nil && p.main.wantsPlugin(p.progress)
	if err := p.fit(p.source.dir, p.version, r.Plugin, p.progress); err != nil {
		return err
	}
	reason := "its server differs from those that the hook is written for"
	for {
		r.Fixes = p.fixed()
		r.Hook = r.Plugin && (p.has(hookFix) || p.has(oldHookFix))
		if r.Plugin && !r.Hook {
			p.progress.printf("warning: no decision hook for OPA %s: %s", p.version, reason)
			p.progress.printf("warning: the plugin gets decisions only through the decision log: set decision_logs.plugin: regometer")
		}
		err := p.attempt(ctx, binary, r)
		lacking, isLacking := errors.AsType[*lackingError](err)
		switch {
		case err == nil:
			return nil
		case isLacking:
			p.progress.printf("warning: without the plugin because %v", lacking)
			if p.vendor != "" {
				p.progress.printf("warning: import them in the program and run go mod vendor, or build without the vendor folder: -- -mod=mod")
			}
			r.Plugin = false
			p.leaveOut(hookFix, oldHookFix)
		default:
			if reason = errorIn(err, append(p.fixedPackages(), path.Join(p.main.ImportPath, pluginPlace))...); reason == "" || r.Fixes == "" {
				return err
			}
			p.progress.printf("leaves out the fixes (%s) because they do not compile in OPA %s: %s", r.Fixes, p.version, reason)
			p.steps = nil
		}
	}
}

// A lackingError names the packages that the plugin imports and the program's
// modules lack.
type lackingError struct{ packages []string }

func (e *lackingError) Error() string {
	return "it imports packages that the program's modules lack: " + strings.Join(e.packages, ", ")
}

// attempt builds what the record says. It fails with a [*lackingError] if the
// plugin cannot be built.
func (p *Program) attempt(ctx context.Context, binary string, r Record) error {
	change, err := p.change(p.source.dir)
	if err != nil {
		return err
	}
	added, what := replacement{}, "as it is"
	if !p.none() {
		added[buildFile], what = r.file(buildFile), "with "+r.parts()
	}
	if r.Plugin {
		files, err := p.plugin.files(ctx, p.main.ImportPath, r)
		if err != nil {
			return fmt.Errorf("adding the plugin: %w", err)
		}
		maps.Copy(added, files)
	}
	for name := range added {
		if slices.Contains(p.main.GoFiles, name) {
			return fmt.Errorf("%s holds a file %s, but Regometer adds a file with this name: rename yours", p.main.Dir, name)
		}
	}
	s, err := p.patched(ctx, change, added)
	if err != nil {
		return err
	}
	if r.Plugin {
		out, err := s.command("list", slices.Concat(p.flags.list(), []string{"-e", "-deps", "-f", "{{if .Error}}{{.ImportPath}}{{end}}", p.main.ImportPath})...).Output(ctx)
		if err != nil {
			return err
		}
		if lacking := strings.Fields(string(out)); len(lacking) > 0 {
			return &lackingError{lacking}
		}
	}
	name := p.source.name
	if !p.self {
		name = p.main.ImportPath
	}
	if p.sourceOnly {
		p.progress.printf("writing the source of OPA %s %s", p.version, what)
		return nil
	}
	p.progress.printf("building %s for %s/%s %s; the first time this takes a few minutes", name, p.env["GOOS"], p.env["GOARCH"], what)
	err = compile(ctx, p.work, s.command("build", slices.Concat([]string{"-o", binary}, p.flags.all, []string{p.main.ImportPath})...))
	if err != nil {
		hint := ""
		if text := err.Error(); strings.Contains(text, "cover: ") && strings.Contains(text, buildFile) {
			hint = "\nGo's cover cannot read the files that Regometer adds: leave out -cover, or use -coverpkg to name packages other than the program's own."
		} else if p.dropIn != nil && ctx.Err() == nil {
			hint = rangeHint
		}
		return fmt.Errorf("building %s: %w%s", name, err, hint)
	}
	if p.none() {
		p.progress.printf("built")
		return nil
	}
	p.progress.printf("built and checked: OPA %s has %s", p.version, r.parts())
	return p.check(binary, r)
}

// check returns an error unless the binary contains the record and the drop-in.
func (p *Program) check(binary string, r Record) error {
	text, err := os.ReadFile(binary)
	if err != nil {
		return withHint(err)
	}
	b, err := Inspect(binary)
	if err != nil {
		return fmt.Errorf("checking the binary: %w", err)
	}
	if !p.self && b.Program != p.main.ImportPath || b.Record != r {
		return fmt.Errorf("%s was built, but the binary lacks the record of this build: %+v", p.main.ImportPath, *b)
	}
	// The linker drops the whole package if nothing calls it.
	if p.dropIn != nil && bytes.Contains(text, []byte("/v1/metrics/metrics.go")) && !bytes.Contains(text, []byte(dropInFile)) {
		return fmt.Errorf("%s was built, but the binary lacks the drop-in: it has no function of %s", p.main.ImportPath, dropInFile)
	}
	return nil
}

// compile runs go build. An interrupted go command may leave its temporary
// folder, so that folder is in the folder scratch.
func compile(ctx context.Context, scratch string, build gotool.Command) error {
	temp, err := os.MkdirTemp(scratch, "go-")
	if err != nil {
		return withHint(err)
	}
	build.Env = append(build.Env, "GOTMPDIR="+temp)
	return build.Run(ctx)
}

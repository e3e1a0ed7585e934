// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package opabuild builds Open Policy Agent (OPA) with its package v1/metrics
// replaced by Regometer's, with Regometer's plugin and with a hook
// in OPA's runtime by which that gets each decision, and puts that drop-in into
// an OPA checkout.
//
// It runs the user's go command and needs nothing else. What it builds is
// kept in a cache, in the folder $REGOMETER_CACHE or "regometer" in the
// user's cache folder; that folder may be deleted at any time.
package opabuild

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regometer/regometer/internal/app/gotool"
)

// Options say what to build. The zero value is [NewestVersion] with the
// drop-in and the plugin.
type Options struct {
	// OPA is a version, such as "1.2.3" or "v1.2.3", anything else that
	// the Go module proxy resolves ("latest", a commit), or a folder that
	// holds OPA's source, which is only read. "" is NewestVersion or, with
	// Upstream, UpstreamVersion.
	OPA string
	// Unmodified builds OPA as it is, for comparisons: without the drop-in and
	// without the plugin.
	Unmodified bool
	// NoPlugin leaves the plugin and the decision hook out.
	NoPlugin bool
	// Upstream builds an OPA with so many steps of the Series, or with
	// AllSteps, in the place of the drop-in and the plugin.
	Upstream int
	// Platform is what to build for, as [ParsePlatform] reads it, such as
	// "linux/arm64". "" is what GOOS and GOARCH say.
	Platform string
	// Progress receives a line now and then, and warnings. nil is silent.
	Progress io.Writer
}

// opa returns the OPA to build, as findSource takes it.
func (o Options) opa() string {
	if o.Upstream != 0 {
		return cmp.Or(o.OPA, UpstreamVersion)
	}
	return o.OPA
}

// buildArgs are the flags of go build: those of OPA's Makefile, and -trimpath,
// by which builds in different folders are the same and share Go's build
// cache. C is never used.
var buildArgs = []string{"build", "-v", "-mod=mod", "-buildvcs=false", "-buildmode=exe", "-trimpath"}

// buildTags returns the tags that a source tree is built with: opa_wasm, which
// is what OPA's Makefile does too. Earlier releases run WebAssembly by a
// module in C; those are built without, as OPA's own static binaries were.
func buildTags(tree string) ([]string, error) {
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		return nil, err
	}
	if bytes.Contains(mod, []byte("github.com/bytecodealliance/wasmtime-go")) {
		return nil, nil
	}
	return []string{"opa_wasm"}, nil
}

// targetVariables are what, beside the sources, decides on the binary.
var targetVariables = []string{
	"GOVERSION", "GOTOOLCHAIN", "GOOS", "GOARCH", "GOEXPERIMENT", "GOFIPS140",
	"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM",
}

// Build returns the path of an opa binary, a file in the cache, which must be
// used soon and not be changed.
//
// It builds only what is not in the cache yet; either OPA, the drop-in or the
// plugin having changed, or Go, or its settings, makes a new binary. Calls may
// run at the same time, in one process and in several: they build one after
// another. When ctx is cancelled the build is stopped and its traces are
// removed.
//
// An OPA older than [OldestVersion] is refused; a newer one than
// [NewestRange] is tried, with a warning. One whose runtime is not as the
// decision hook expects it is built without the hook, with a warning. [Inspect]
// tells what is in a binary.
func Build(ctx context.Context, o Options) (path string, err error) {
	var d dropIn
	var p *plugin
	var steps []Step
	if o.Upstream != 0 {
		steps, err = firstSteps(o.Upstream)
	} else if !o.Unmodified {
		d, err = loadDropIn()
		if err == nil && !o.NoPlugin {
			p, err = findPlugin()
		}
	}
	if err != nil {
		return "", err
	}
	return buildWith(ctx, o, d, p, steps...)
}

// buildWith builds with a drop-in and a plugin, where nil is without, or with
// steps of the series.
func buildWith(ctx context.Context, o Options, d dropIn, p *plugin, steps ...Step) (string, error) {
	src, err := findSource(ctx, o.opa())
	if err != nil {
		return "", err
	}
	target, err := platformEnv(ctx, o.Platform)
	if err != nil {
		return "", err
	}
	env, err := gotool.Env(ctx, target, targetVariables...)
	if err != nil {
		return "", err
	}
	c, err := openCache()
	if err != nil {
		return "", err
	}
	b := builder{src: src, target: target, env: env, dropIn: d, plugin: p, steps: steps, progress: progress{o.Progress, time.Now()}}
	name := "opa"
	if env["GOOS"] == "windows" {
		name = "opa.exe"
	}
	key := b.key(ctx)
	binary, ok, damage := c.binary(key, name)
	if damage != nil {
		b.progress.printf("warning: the binary in the cache is damaged, and built again: %v", damage)
	}
	if ok {
		return binary, nil
	}
	return b.run(ctx, c, key, name)
}

// A builder makes one binary.
type builder struct {
	src      source
	target   []string          // for the environment of go build: see platformEnv
	env      map[string]string // of targetVariables
	dropIn   dropIn            // nil = OPA's own package
	plugin   *plugin           // nil = without
	steps    []Step            // of the series, in the place of the drop-in
	progress progress
}

// unmodified reports whether it builds OPA as it is.
func (b *builder) unmodified() bool { return b.dropIn == nil && len(b.steps) == 0 }

// key identifies all that decides on the binary.
func (b *builder) key(ctx context.Context) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n", b.src.content, buildArgs)
	if b.dropIn != nil {
		fmt.Fprintf(h, "drop-in %s\n", b.dropIn.hash())
	}
	for _, s := range b.steps {
		fmt.Fprintf(h, "step %s\n", s.content)
	}
	if !b.unmodified() {
		hashInjected(h)
	}
	if b.plugin != nil {
		fmt.Fprintf(h, "plugin %s in %s\n", b.plugin.content, pluginCopy)
	}
	if b.src.dir != "" {
		fmt.Fprintf(h, "commit %s\n", b.stamp(ctx))
	}
	for _, name := range targetVariables {
		fmt.Fprintf(h, "%s=%s\n", name, b.env[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// stamp returns the linker flags by which `opa version` shows the commit, as
// it does if Go builds in the checkout itself.
func (b *builder) stamp(ctx context.Context) string {
	if b.src.dir == "" {
		return ""
	}
	revision, timestamp := commit(ctx, b.src.dir, !b.unmodified())
	if revision == "" {
		return ""
	}
	const pkg = opaModule + "/v1/version"
	return fmt.Sprintf("-X %s.Vcs=%s -X %s.Timestamp=%s", pkg, revision, pkg, timestamp)
}

func (b *builder) run(ctx context.Context, c cache, key, name string) (string, error) {
	dir, release, err := c.workDir(ctx, "build", func() {
		b.progress.printf("waiting for another build to end")
	})
	if err != nil {
		return "", withHint(err)
	}
	defer func() { _ = release() }() // the next one empties it too
	// Another process may have built it meanwhile.
	if binary, ok, _ := c.binary(key, name); ok {
		return binary, nil
	}
	// A name of its own: a go command that outlived a killed build may still
	// write to the old one.
	if dir, err = os.MkdirTemp(dir, ""); err != nil {
		return "", withHint(err)
	}
	tree := filepath.Join(dir, "src")
	b.progress.printf("getting %s", b.src.name)
	if err := b.prepare(ctx, tree); err != nil {
		return "", withHint(err)
	}
	if !b.unmodified() {
		if err := b.inject(ctx, tree); err != nil {
			return "", withHint(err)
		}
	}
	binary := filepath.Join(dir, name)
	if err := b.compile(ctx, tree, binary); err != nil {
		hint := ""
		if b.dropIn != nil && ctx.Err() == nil {
			hint = rangeHint
		}
		return "", fmt.Errorf("building %s: %w%s", b.src.name, err, hint)
	}
	b.progress.printf("built")
	binary, err = c.add(key, name, binary)
	return binary, withHint(err)
}

// prepare copies OPA's source, with the drop-in or the steps in it, to the
// folder dir, which does not exist yet.
func (b *builder) prepare(ctx context.Context, dir string) error {
	from, err := b.src.local(ctx)
	if err != nil {
		return err
	}
	version, err := treeVersion(from)
	if err != nil {
		return err
	}
	warning, err := checkRange(version)
	if err != nil {
		return err
	}
	if err := checkCopyable(from); err != nil {
		return err
	}
	if b.dropIn != nil {
		if warning != "" {
			b.progress.printf("warning: %s", warning)
		}
	}
	if err := b.src.copyWith(ctx, b.dropIn, dir, from); err != nil {
		return err
	}
	return ApplySteps(dir, b.steps)
}

// inject puts into the tree in dir what makes it more than an OPA with the
// drop-in or the steps: the record of what is in the binary, the plugin and the
// decision hook.
func (b *builder) inject(ctx context.Context, dir string) error {
	version, err := treeVersion(dir)
	if err != nil {
		return err
	}
	r := record{Regometer: regometerVersion(), OPA: version, Upstream: len(b.steps)}
	if b.dropIn != nil {
		r.DropIn = b.dropIn.hash()
	}
	if b.plugin != nil {
		if err := b.plugin.require(ctx, dir); err != nil {
			return fmt.Errorf("adding the plugin: %w", err)
		}
		r.Plugin = true
		var refused *hookError
		if err := addHook(ctx, dir, b.env); errors.As(err, &refused) {
			b.progress.warnOfNoHook(b.src.name, refused.Error())
		} else if err != nil {
			return fmt.Errorf("adding the decision hook: %w", err)
		} else {
			r.Hook = true
		}
		if err := r.writeTemplate(dir, pluginFile); err != nil {
			return err
		}
	}
	return r.writeTemplate(dir, buildFile)
}

// compile runs go build and shows how far it is.
func (b *builder) compile(ctx context.Context, tree, binary string) error {
	what := "as it is"
	switch {
	case b.plugin != nil:
		what = "with the drop-in and the plugin"
	case b.dropIn != nil:
		what = "with the drop-in"
	case len(b.steps) > 0:
		what = "with " + stepsName(len(b.steps))
	}
	b.progress.printf("building %s for %s/%s %s; the first time this takes a few minutes", b.src.name, b.env["GOOS"], b.env["GOARCH"], what)
	tags, err := buildTags(tree)
	if err != nil {
		return err
	}
	args := slices.Concat(buildArgs, []string{"-tags=" + strings.Join(tags, ","), "-o", binary})
	if flags := b.stamp(ctx); flags != "" {
		args = append(args, "-ldflags="+flags)
	}
	return b.progress.compile(ctx, binary, gotool.Command{Dir: tree, Args: append(args, "."), Env: append([]string{"CGO_ENABLED=0"}, b.target...)})
}

// compile runs go build -v, which makes the file binary, and shows how far it
// is.
func (p progress) compile(ctx context.Context, binary string, build gotool.Command) error {
	// An interrupted go command leaves its temporary folder behind if what it
	// started still writes there. This one goes with the folder of the build.
	temp := binary + ".tmp"
	if err := os.Mkdir(temp, 0o755); err != nil {
		return err
	}
	var packages atomic.Int64
	stop := p.every(10*time.Second, func() string {
		return fmt.Sprintf("still building, %d packages compiled", packages.Load())
	})
	defer stop()
	build.Env = append(build.Env, "GOTMPDIR="+temp)
	build.Note = func(line string) bool {
		// Because of -v: a package's path, alone. All else has blanks.
		isPackage := line != "" && !strings.ContainsAny(line, " \t")
		if isPackage {
			packages.Add(1)
		}
		return isPackage || strings.HasPrefix(line, "go: downloading ")
	}
	return build.Run(ctx)
}

// withHint adds how to mend an error of the file system.
func withHint(err error) error {
	if err == nil {
		return nil
	}
	if h := gotool.Hint(err.Error()); h != "" && !strings.Contains(err.Error(), h) {
		return fmt.Errorf("%w\n%s", err, h)
	}
	return err
}

// progress writes lines with the time since start.
type progress struct {
	w     io.Writer
	start time.Time
}

func (p progress) printf(format string, args ...any) {
	if p.w != nil {
		fmt.Fprintf(p.w, "[%5.1fs] %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
	}
}

// warnOfNoHook tells that an OPA is built without the decision hook, and why.
func (p progress) warnOfNoHook(opa, refusal string) {
	p.printf("warning: no decision hook for %s: %s", opa, refusal)
	p.printf("warning: the plugin gets decisions by way of the decision log only: set decision_logs.plugin: regometer")
}

// every prints a line at intervals until stop is called.
func (p progress) every(d time.Duration, line func() string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				p.printf("%s", line())
			}
		}
	}()
	return func() { close(done); <-ended }
}

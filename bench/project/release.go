// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/regometer/regometer/bench/internal/measure"
)

// A Release is a copy of the repository as it will be published. No module
// replaces another. Each requires the others at the release's version and has
// their checksums. A module proxy in a folder serves all modules.
//
// One commit can hold all of them, because a module's zip file has neither the
// go.mod nor the go.sum of the modules nested in it.
type Release struct {
	Version string
	Modules []Module
	// Env makes the go command see the release. The go command gets a module
	// cache of its own, which is filled from the release, the user's module
	// cache and the user's proxy, in this order.
	Env []string

	ctx      context.Context
	progress io.Writer
	root     string // the repository
	temp     string // the folder of everything temporary
	copy     string // the repository's copy
}

// NewRelease prepares a release of the repository at root in a temporary
// folder, which Close removes. All programs of the release end with ctx.
// progress gets a line for each step. NewRelease fails if the version is
// invalid.
func NewRelease(ctx context.Context, root, version string, progress io.Writer) (*Release, error) {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return nil, fmt.Errorf("invalid version %q: write a version such as v0.1.0", version)
	}
	modules, err := Modules(root)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "regometer-release-")
	if err != nil {
		return nil, err
	}
	r := &Release{Version: version, Modules: modules, ctx: ctx, progress: progress, root: root, temp: temp, copy: filepath.Join(temp, "copy")}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close removes the temporary folder.
func (r *Release) Close() error {
	fmt.Fprintln(r.progress, "removing temporary files")
	return os.RemoveAll(r.temp)
}

// runGo runs the go command in a folder of the release, and returns its output.
func (r *Release) runGo(dir string, env []string, args ...string) (string, error) {
	return measure.Run(r.ctx, io.Discard, filepath.Join(r.temp, dir), slices.Concat(env, r.Env), "go", args...)
}

// prepare copies the repository and makes each module of the copy ready.
func (r *Release) prepare() error {
	user, err := measure.Run(r.ctx, io.Discard, r.root, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(user), "\n")
	proxies := "file://" + filepath.Join(r.temp, "proxy") + ",file://" + filepath.Join(cache, "cache", "download")
	if proxy != "off" {
		proxies += "," + proxy
	}
	// The folders have new names each time. With -trimpath, Go still finds what
	// it has built before.
	r.Env = []string{
		"GOWORK=off", "GOFLAGS=-trimpath -modcacherw", "GOMODCACHE=" + filepath.Join(r.temp, "modules"), "GOPROXY=" + proxies,
		"GONOSUMDB=" + r.Modules[0].Path, "GOPRIVATE=", "GONOPROXY=",
	}
	if err := Copy(r.ctx, r.root, r.copy); err != nil {
		return err
	}
	for _, m := range r.Modules {
		fmt.Fprintf(r.progress, "preparing %s\n", m.Path)
		edits := []string{"mod", "edit"}
		for _, other := range r.Modules {
			edits = append(edits, "-dropreplace="+other.Path)
			if slices.ContainsFunc(m.File.Require, func(q *modfile.Require) bool { return q.Mod.Path == other.Path }) {
				edits = append(edits, "-require="+other.Path+"@"+r.Version)
			}
		}
		for _, args := range [][]string{edits, {"mod", "tidy"}} {
			if _, err := r.runGo(filepath.Join("copy", m.Dir), nil, args...); err != nil {
				return err
			}
		}
		if err := r.serve(m); err != nil {
			return err
		}
	}
	return nil
}

// Copy copies the files of the repository from, except ignored files, to the
// folder to. It uses git with a separate index.
func Copy(ctx context.Context, from, to string) error {
	index := []string{"GIT_INDEX_FILE=" + to + ".index"}
	if _, err := measure.Run(ctx, io.Discard, from, index, "git", "add", "--all", "."); err != nil {
		return err
	}
	_, err := measure.Run(ctx, io.Discard, from, index, "git", "checkout-index", "--all", "--prefix="+filepath.ToSlash(to)+"/")
	return err
}

// serve writes the module to the proxy, in the form that go help goproxy
// describes. As the go command does for a repository, it adds the root's
// licence to each module.
func (r *Release) serve(m Module) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	source, dir := filepath.Join(r.copy, m.Dir), filepath.Join(r.temp, "proxy", filepath.FromSlash(escaped), "@v")
	if m.Dir != "." {
		if err := os.Link(filepath.Join(r.copy, "LICENSE"), filepath.Join(source, "LICENSE")); err != nil {
			return err
		}
	}
	gomod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, module.Version{Path: m.Path, Version: r.Version}, source); err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(dir, 0o777),
		os.WriteFile(filepath.Join(dir, "list"), []byte(r.Version+"\n"), 0o666),
		os.WriteFile(filepath.Join(dir, r.Version+".info"), fmt.Appendf(nil, `{"Version": %q}`, r.Version), 0o666),
		os.WriteFile(filepath.Join(dir, r.Version+".mod"), gomod, 0o666),
		os.WriteFile(filepath.Join(dir, r.Version+".zip"), archive.Bytes(), 0o666),
	)
}

// Build builds all packages of all modules as published, and then the programs
// for this platform.
func (r *Release) Build() error {
	for _, m := range r.Modules {
		fmt.Fprintf(r.progress, "building %s\n", m.Path)
		if _, err := r.runGo(filepath.Join("copy", m.Dir), nil, "build", "./..."); err != nil {
			return err
		}
	}
	return r.Programs(filepath.Join(r.temp, "programs"), host)
}

// Platforms are the platforms that a release has programs for. host is the
// platform of this program.
var Platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

const host = runtime.GOOS + "/" + runtime.GOARCH

// Programs writes the command and OPA for each platform to the folder dir, and
// checks those for this platform. It installs the command by its path and
// version, as users do, and makes the installed command build OPA. The command
// has no checkout, so it gets the plugin from the modules of its version.
func (r *Release) Programs(dir string, platforms ...string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	builder, err := r.install(host)
	if err != nil {
		return err
	}
	for _, platform := range platforms {
		installed, err := r.install(platform)
		if err != nil {
			return err
		}
		suffix := "_" + strings.ReplaceAll(platform, "/", "_") + filepath.Ext(installed)
		regometer, opa := filepath.Join(dir, "regometer"+suffix), filepath.Join(dir, "opa"+suffix)
		text, err := os.ReadFile(installed)
		if err := errors.Join(err, os.MkdirAll(dir, 0o777), os.WriteFile(regometer, text, 0o777)); err != nil {
			return err
		}
		fmt.Fprintf(r.progress, "building OPA for %s with the command that was installed\n", platform)
		env := slices.Concat(platformEnv(platform), []string{"REGOMETER_CACHE=" + filepath.Join(r.temp, "cache")}, r.Env)
		if _, err := measure.Run(r.ctx, r.progress, r.temp, env, builder, "build", "-o", opa); err != nil {
			return err
		}
		if platform == host {
			if err := r.check(regometer, opa); err != nil {
				return err
			}
		}
	}
	return nil
}

// platformEnv returns the variables that make the go command build for the
// platform, without C, and in the same way on every machine.
func platformEnv(platform string) []string {
	system, processor, _ := strings.Cut(platform, "/")
	return []string{
		"GOOS=" + system, "GOARCH=" + processor, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
	}
}

// install installs the command for a platform, and returns the binary.
func (r *Release) install(platform string) (string, error) {
	command := r.Modules[0].Path + "/cmd/regometer@" + r.Version
	fmt.Fprintf(r.progress, "installing %s for %s\n", command, platform)
	// Go refuses GOBIN for other platforms, and uses a folder for each of them.
	gopath := filepath.Join(r.temp, "gopath")
	if _, err := r.runGo("", append(platformEnv(platform), "GOPATH="+gopath, "GOBIN="), "install", command); err != nil {
		return "", err
	}
	file := filepath.Join(gopath, "bin")
	if platform != host {
		file = filepath.Join(file, strings.ReplaceAll(platform, "/", "_"))
	}
	file = filepath.Join(file, "regometer")
	if strings.HasPrefix(platform, "windows/") {
		file += ".exe"
	}
	return file, nil
}

// check runs the programs for this platform. It fails unless they know their
// versions, OPA evaluates a query, and OPA has the plugin. Only the plugin
// refuses an invalid configuration of the plugin.
func (r *Release) check(regometer, opa string) error {
	config := filepath.Join(r.temp, "config.yaml")
	if err := os.WriteFile(config, []byte("plugins: {regometer: {no_such_key: 1}}\n"), 0o666); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute) // without the plugin, OPA serves
	defer cancel()
	for _, c := range []struct {
		want    string
		fails   bool
		command []string
	}{
		{"regometer: " + r.Version + "\n", false, []string{regometer, "version"}},
		{"regometer: " + r.Version + "\n", false, []string{regometer, "version", opa}},
		{"plugin: gets decisions straight from OPA's server\n", false, []string{regometer, "version", opa}},
		{"2\n", false, []string{opa, "eval", "--format", "raw", "1 + 1"}},
		{`unknown key "no_such_key"`, true, []string{opa, "run", "--server", "--addr", "127.0.0.1:0", "--config-file", config}},
	} {
		out, err := measure.Run(ctx, io.Discard, r.temp, nil, c.command[0], c.command[1:]...)
		if c.fails && err != nil {
			out, err = err.Error(), nil
		}
		if err != nil {
			return err
		}
		if !strings.Contains(out, c.want) {
			return fmt.Errorf("%s does not print %q, but\n%s", strings.Join(c.command, " "), c.want, out)
		}
	}
	return nil
}

// Apply copies each module's go.mod and go.sum from the release into the
// repository.
func (r *Release) Apply() error {
	for _, m := range r.Modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(r.copy, m.Dir, name))
			if os.IsNotExist(err) {
				continue // a module that requires no other has no go.sum
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(r.root, m.Dir, name), text, 0o666)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

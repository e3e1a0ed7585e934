// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/regometer/regometer/internal/app/opabuild"
)

// A Release is a copy of the repository as it is to be published: no module
// replaces another, each requires the others at the release's version and has
// their checksums. All modules are served by a module proxy in a folder.
//
// Since a module's zip file holds neither the go.mod nor the go.sum of the
// modules nested in it, one commit can hold all of them.
type Release struct {
	Version string
	Modules []Module

	root string // the repository
	temp string // all of the following
	copy string // the repository's copy
	env  []string
}

// NewRelease prepares a release of the repository at root in a temporary
// folder, which Close removes. It says on progress what it is doing.
func NewRelease(ctx context.Context, root, version string, progress io.Writer) (_ *Release, err error) {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return nil, fmt.Errorf("%q is no version: want one such as v0.1.0", version)
	}
	modules, err := Modules(root)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "regometer-release-")
	if err != nil {
		return nil, err
	}
	r := &Release{Version: version, Modules: modules, root: root, temp: temp, copy: filepath.Join(temp, "copy")}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := r.setEnv(ctx); err != nil {
		return nil, err
	}
	if err := copyFiles(ctx, root, r.copy); err != nil {
		return nil, err
	}
	for _, m := range modules {
		fmt.Fprintf(progress, "preparing %s\n", m.Path)
		if err := r.prepare(ctx, m); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Close removes the temporary folder.
func (r *Release) Close() error {
	// What regometer has downloaded for OPA is read-only, as Go likes it.
	err := filepath.WalkDir(r.temp, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o777)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(r.temp))
}

// Env returns the variables that make the go command see the release: its own
// module cache, filled from the release, the user's module cache and the
// user's proxy, in this order.
func (r *Release) Env() []string { return r.env }

func (r *Release) setEnv(ctx context.Context) error {
	text, err := run(ctx, r.root, nil, "go", "env", "-json", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	var user struct{ GOMODCACHE, GOPROXY string }
	if err := json.Unmarshal([]byte(text), &user); err != nil {
		return err
	}
	proxies := []string{fileURL(filepath.Join(r.temp, "proxy")), fileURL(filepath.Join(user.GOMODCACHE, "cache", "download"))}
	if user.GOPROXY != "off" {
		proxies = append(proxies, user.GOPROXY)
	}
	r.env = []string{
		"GOWORK=off",
		"GOFLAGS=-modcacherw",
		"GOMODCACHE=" + filepath.Join(r.temp, "modules"),
		"GOPROXY=" + strings.Join(proxies, ","),
		"GONOSUMDB=" + r.Modules[0].Path,
		"GOPRIVATE=", "GONOPROXY=",
	}
	return nil
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path
	}
	return "file://" + path
}

// prepare makes one module of the copy ready and serves it.
func (r *Release) prepare(ctx context.Context, m Module) error {
	dir := filepath.Join(r.copy, m.Dir)
	var edits []string
	for _, other := range r.Modules {
		for _, require := range m.File.Require {
			if require.Mod.Path == other.Path {
				edits = append(edits, "-require="+other.Path+"@"+r.Version)
			}
		}
		edits = append(edits, "-dropreplace="+other.Path)
	}
	if _, err := run(ctx, dir, r.env, "go", append([]string{"mod", "edit"}, edits...)...); err != nil {
		return err
	}
	if _, err := run(ctx, dir, r.env, "go", "mod", "tidy"); err != nil {
		return err
	}
	return r.serve(m)
}

// serve writes the module to the proxy, in the form that go help goproxy
// describes.
func (r *Release) serve(m Module) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := filepath.Join(r.temp, "proxy", filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	source := filepath.Join(r.copy, m.Dir)
	gomod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	if err := addLicense(r.copy, source); err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, module.Version{Path: m.Path, Version: r.Version}, source); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": r.Version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list":              []byte(r.Version + "\n"),
		r.Version + ".info": info,
		r.Version + ".mod":  gomod,
		r.Version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// addLicense does what the go command does when it makes a nested module's zip
// file from a repository: it adds the root's LICENSE, which thereby counts for
// the checksum.
func addLicense(root, dir string) error {
	target := filepath.Join(dir, "LICENSE")
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, 0o666)
}

func copyFiles(ctx context.Context, from, to string) error {
	paths, err := files(ctx, from)
	if err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			return err
		}
		target := filepath.Join(to, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(target, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Build builds all packages of all modules as published, installs the command
// by its path and version, as users do, and has it print its version and build
// OPA.
func (r *Release) Build(ctx context.Context, progress io.Writer) error {
	for _, m := range r.Modules {
		fmt.Fprintf(progress, "building %s\n", m.Path)
		// What is built without the folder's name in it, Go has the next time.
		if _, err := run(ctx, filepath.Join(r.copy, m.Dir), r.env, "go", "build", "-trimpath", "./..."); err != nil {
			return err
		}
	}
	host := HostPlatform()
	regometer, err := r.Install(ctx, host, progress)
	if err != nil {
		return err
	}
	opa, err := r.BuildOPA(ctx, regometer, opabuild.NewestVersion, host, progress)
	if err != nil {
		return err
	}
	return r.CheckRun(ctx, regometer, opa)
}

// Install installs the command for a platform by its path and version, as users
// do, and returns the binary, which Close removes.
func (r *Release) Install(ctx context.Context, p Platform, progress io.Writer) (string, error) {
	command := r.Modules[0].Path + "/cmd/regometer@" + r.Version
	fmt.Fprintf(progress, "installing %s for %s\n", command, p)
	// Go refuses GOBIN for other platforms, and has a folder for each of them.
	gopath := filepath.Join(r.temp, "gopath")
	env := append(p.env(), "GOPATH="+gopath, "GOBIN=")
	if _, err := run(ctx, r.temp, append(env, r.env...), "go", "install", "-trimpath", command); err != nil {
		return "", err
	}
	dir := filepath.Join(gopath, "bin")
	if p != HostPlatform() {
		dir = filepath.Join(dir, p.OS+"_"+p.Arch)
	}
	return filepath.Join(dir, p.Executable("regometer")), nil
}

// BuildOPA has the installed command regometer, of this platform, build this
// version of OPA for another, and returns the binary, which Close removes. It
// has no checkout to take the plugin from, but finds the modules of its own
// version.
func (r *Release) BuildOPA(ctx context.Context, regometer, version string, p Platform, progress io.Writer) (string, error) {
	fmt.Fprintf(progress, "building OPA %s for %s with the command that was installed\n", version, p)
	dir := filepath.Join(r.temp, "opa", p.OS+"_"+p.Arch)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	opa := filepath.Join(dir, p.Executable("opa"))
	env := append(p.env(), "REGOMETER_CACHE="+filepath.Join(r.temp, "cache"))
	_, err := runShowing(ctx, progress, r.temp, append(env, r.env...), regometer, "build", "--opa", version, "-o", opa)
	return opa, err
}

// CheckRun runs the binaries of Install and BuildOPA for this platform: they
// have to know their versions, and OPA has to evaluate a query and to have the
// plugin.
func (r *Release) CheckRun(ctx context.Context, regometer, opa string) error {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{regometer, "version"}, "regometer: " + r.Version + "\n"},
		{[]string{regometer, "version", opa}, "regometer: " + r.Version + "\n"},
		{[]string{regometer, "version", opa}, "plugin: gets decisions straight from OPA's server\n"},
		{[]string{opa, "eval", "--format", "raw", "1 + 1"}, "2\n"},
	} {
		out, err := run(ctx, r.temp, nil, c.command[0], c.command[1:]...)
		if err != nil {
			return err
		}
		if !strings.Contains(out, c.want) {
			return fmt.Errorf("%s does not print %q, but\n%s", strings.Join(c.command, " "), c.want, out)
		}
	}
	return r.checkPlugin(ctx, opa)
}

// checkPlugin returns an error unless the OPA binary complains of a wrong
// configuration of the plugin, and thereby has it.
func (r *Release) checkPlugin(ctx context.Context, opa string) error {
	config := filepath.Join(r.temp, "config.yaml")
	if err := os.WriteFile(config, []byte("plugins: {regometer: {no_such_key: 1}}\n"), 0o666); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // if it takes it, it serves
	defer cancel()
	_, err := run(ctx, r.temp, nil, opa, "run", "--server", "--addr", "127.0.0.1:0", "--config-file", config)
	if err == nil {
		return errors.New("the OPA that was built takes a wrong configuration of the plugin regometer")
	}
	if !strings.Contains(err.Error(), `unknown key "no_such_key"`) {
		return fmt.Errorf("the OPA that was built has no plugin regometer: %w", err)
	}
	return nil
}

// ModuleDir returns the folder that holds the source of a module in the
// release's module cache, to which it is downloaded if need be.
func (r *Release) ModuleDir(ctx context.Context, path, version string) (string, error) {
	out, err := run(ctx, r.temp, r.env, "go", "mod", "download", "-json", path+"@"+version)
	if err != nil {
		return "", err
	}
	var m struct{ Dir string }
	err = json.Unmarshal([]byte(out), &m)
	return m.Dir, err
}

// Apply copies each module's go.mod and go.sum from the release into the
// repository.
func (r *Release) Apply() error {
	for _, m := range r.Modules {
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(r.copy, m.Dir, name))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(r.root, m.Dir, name), text, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

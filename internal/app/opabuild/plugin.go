// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

const ourModule = "github.com/regometer/regometer"

// pluginModules are the folders, in a checkout, of our modules that the plugin
// consists of.
var pluginModules = []string{"", "prom", "opa"}

// pluginFolders hold the plugin's packages, in a checkout.
var pluginFolders = []string{"metrics", "exphist", "rollup", "internal/grid", "internal/stages", "prom", "opa/plugin"}

// A plugin is the source of the plugin.
type plugin struct {
	version string // of our modules, to download; "" = a checkout
	dir     string // the checkout
	content string // identifies the content
}

// findPlugin returns the plugin that belongs to this program: the plugin of the
// same version or, if the program was built in a checkout, of the checkout.
func findPlugin() (*plugin, error) {
	if version := ownVersion(); version != "" {
		return &plugin{version: version, content: "version " + version}, nil
	}
	// The compiler records where this file was: built by `go install` in a
	// checkout, the program runs elsewhere.
	_, file, _, _ := runtime.Caller(0)
	built := filepath.Join(filepath.Dir(file), "..", "..", "..")
	if isCheckout(built) {
		return checkoutPlugin(built)
	}
	// With -trimpath the file's path says nothing.
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for ; ; dir = filepath.Dir(dir) {
		if isCheckout(dir) {
			return checkoutPlugin(dir)
		}
		if dir == filepath.Dir(dir) {
			return nil, errors.New("the source of the plugin is not here: this regometer was built in a checkout that is gone or unknown. " +
				"Run it in a checkout of Regometer, install a released version, or leave the plugin out: --no-plugin")
		}
	}
}

// ownVersion returns the released version that this program was built from, or
// "" if it was built in a checkout. A release has one version for all modules.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == ourModule+"/internal/app" && m.Replace == nil && exactVersion.MatchString(m.Version) {
			return m.Version
		}
	}
	return ""
}

func isCheckout(dir string) bool {
	for _, name := range pluginModules {
		mod, err := os.ReadFile(filepath.Join(dir, name, "go.mod"))
		if err != nil {
			return false
		}
		if m := moduleLine.FindSubmatch(mod); m == nil || string(m[1]) != path.Join(ourModule, name) {
			return false
		}
	}
	return true
}

func checkoutPlugin(dir string) (*plugin, error) {
	p := &plugin{dir: dir}
	files, language, err := p.sources(context.Background()) // which downloads nothing
	if err != nil {
		return nil, err
	}
	p.content = "folder " + hashAll(dropIn(files).hash(), language)
	return p, nil
}

// sources returns the plugin's source by slash path, downloading it if need be,
// and its language, such as "go1.25".
func (p *plugin) sources(ctx context.Context) (all map[string][]byte, _ string, err error) {
	modules := map[string]string{}
	for _, name := range pluginModules {
		modules[name] = filepath.Join(p.dir, name)
		if p.version != "" {
			m, err := download(ctx, "the plugin of Regometer", path.Join(ourModule, name), p.version)
			if err != nil {
				return nil, "", err
			}
			modules[name] = m.Dir
		}
	}
	all = map[string][]byte{}
	for _, folder := range pluginFolders {
		dir := filepath.Join(modules[""], filepath.FromSlash(folder))
		if module, rest, _ := strings.Cut(folder, "/"); modules[module] != "" {
			dir = filepath.Join(modules[module], rest)
		}
		files, err := goFiles(dir)
		if err != nil {
			return nil, "", err
		}
		for name, text := range files {
			if !isTest(name) {
				all[path.Join(folder, name)] = text
			}
		}
	}
	language, err := language(os.DirFS(modules["opa"]))
	return all, language, err
}

// pluginPlace is the folder, in that of the main package, with the plugin's
// packages.
const pluginPlace = "internal/regometer"

// files returns the files that put the plugin into a main package: the plugin's
// packages, as packages of the program's own, and the file that registers it.
func (p *plugin) files(ctx context.Context, importPath string, r record) (replacement, error) {
	sources, language, err := p.sources(ctx)
	if err != nil {
		return nil, err
	}
	prefix := path.Join(importPath, pluginPlace)
	files := replacement{}
	for name, text := range sources {
		files[path.Join(pluginPlace, name)] = ownPackage(text, prefix, language)
	}
	text, err := r.file(pluginFile)
	files[pluginFile] = ownPackage(text, prefix, language)
	return files, err
}

var (
	ourImport       = regexp.MustCompile(`(?m)^((?:import )?\t?(?:[\w.]+ )?")` + regexp.QuoteMeta(ourModule) + `/`)
	buildConstraint = regexp.MustCompile(`(?m)^//go:build (.*)$`)
)

// ownPackage returns the text of one of our files as a file of a program: its
// imports of our packages are below prefix, and its language is as given,
// whatever the program's go.mod says.
func ownPackage(text []byte, prefix, language string) []byte {
	text = ourImport.ReplaceAll(text, []byte("${1}"+prefix+"/"))
	if at := buildConstraint.FindSubmatchIndex(text); at != nil {
		return fmt.Appendf(nil, "%s//go:build (%s) && %s%s", text[:at[0]], text[at[2]:at[3]], language, text[at[1]:])
	}
	return fmt.Appendf(nil, "//go:build %s\n\n%s", language, text)
}

// hashAll returns a hash of values.
func hashAll(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		fmt.Fprintf(h, "%q\n", v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"

	"golang.org/x/mod/modfile"
)

// pluginFolders hold the plugin's packages, by the folder of their module in a
// checkout.
var pluginFolders = map[string][]string{
	"":     {"exphist", "outcome", "rollup", "internal/grid", "internal/stages", "internal/verdicts"},
	"prom": {""},
	"opa":  {"internal/hook", "plugin", "plugin/register"},
}

// A plugin is the source of the plugin.
type plugin struct {
	version string // of our modules, to download; "" if there is a checkout
	dir     string // the checkout
	content string // identifies the content
}

// findPlugin returns the plugin that belongs to this program. It is the plugin
// of the same version or, if the program was built in a checkout, that of the
// checkout. findPlugin fails if the checkout is gone.
func findPlugin() (*plugin, error) {
	if version := ownVersion(); version != "" {
		return &plugin{version: version, content: "version " + version}, nil
	}
	// The compiler records where this file was, except with -trimpath. The
	// current folder does not help, because a program that `go install` built
	// in a checkout runs elsewhere.
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
	if !isCheckout(dir) {
		return nil, errors.New("the source of the plugin is missing: this regometer was built in a checkout that is gone, or with -trimpath. " +
			"Build it in a checkout without -trimpath, install a released version, or leave the plugin out: --no-plugin")
	}
	return checkoutPlugin(dir)
}

// isCheckout reports whether dir is a checkout of Regometer.
func isCheckout(dir string) bool {
	mod, _ := os.ReadFile(filepath.Join(dir, "opa", "go.mod"))
	return modfile.ModulePath(mod) == ourModule+"/opa"
}

func checkoutPlugin(dir string) (*plugin, error) {
	p := &plugin{dir: dir}
	files, language, err := p.sources(context.Background()) // downloads nothing
	if err != nil {
		return nil, err
	}
	p.content = "folder " + hashAll(dropIn(files).hash(), language)
	return p, nil
}

// sources returns the plugin's source by slash path, and its language, such as
// "go1.25". It downloads the source if necessary.
func (p *plugin) sources(ctx context.Context) (all map[string][]byte, goVersion string, err error) {
	all = map[string][]byte{}
	for module, folders := range pluginFolders {
		dir := filepath.Join(p.dir, module)
		if p.version != "" {
			m, err := download(ctx, "the plugin of Regometer", path.Join(ourModule, module), p.version)
			if err != nil {
				return nil, "", err
			}
			dir = m.Dir
		}
		if module == "opa" {
			if goVersion, err = language(os.DirFS(dir)); err != nil {
				return nil, "", err
			}
		}
		for _, folder := range folders {
			files, err := goFiles(filepath.Join(dir, filepath.FromSlash(folder)))
			if err != nil {
				return nil, "", err
			}
			for name, text := range files {
				if !isTest(name) {
					all[path.Join(module, folder, name)] = text
				}
			}
		}
	}
	return all, goVersion, nil
}

// pluginPlace is the folder of the plugin's packages, in the folder of the main
// package. The package in it registers the plugin.
const pluginPlace = "internal/regometerbuild"

// files returns the files that put the plugin into a main package. These are
// the plugin's packages, as packages of the program, and a file that imports
// them and declares no name, because the program may use any name.
func (p *plugin) files(ctx context.Context, importPath string, r Record) (replacement, error) {
	sources, language, err := p.sources(ctx)
	if err != nil {
		return nil, err
	}
	prefix := path.Join(importPath, pluginPlace)
	files := replacement{}
	for name, text := range sources {
		files[path.Join(pluginPlace, name)] = ownPackage(text, prefix, language)
	}
	files[path.Join(pluginPlace, pluginFile)] = ownPackage(r.file(pluginFile), prefix, language)
	files[pluginFile] = fmt.Appendf(nil, "package main\n\nimport _ %q\n", prefix)
	return files, nil
}

var (
	ourImport       = regexp.MustCompile(`(?m)^((?:import )?\t?(?:[\w.]+ )?")` + regexp.QuoteMeta(ourModule) + `/`)
	buildConstraint = regexp.MustCompile(`(?m)^//go:build (.*)$`)
)

// ownPackage returns the text of one of our files as a file of a program. Its
// imports of our packages are below prefix. A build constraint sets its
// language, whatever the program's go.mod says.
func ownPackage(text []byte, prefix, language string) []byte {
	text = ourImport.ReplaceAll(text, []byte("${1}"+prefix+"/"))
	if at := buildConstraint.FindSubmatchIndex(text); at != nil {
		return fmt.Appendf(nil, "%s//go:build (%s) && %s%s", text[:at[0]], text[at[2]:at[3]], language, text[at[1]:])
	}
	return fmt.Appendf(nil, "//go:build %s\n\n%s", language, text)
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/gotool"
)

// Our modules that the plugin is made of, and where each is in a
// checkout.
const ourModule = "github.com/regometer/regometer"

var pluginModules = []string{"", "prom", "opa"}

// pluginFolders hold the plugin's code, in a checkout. They decide on the key
// in the cache: a change anywhere else must not build OPA anew.
var pluginFolders = []string{"metrics", "exphist", "rollup", "internal/grid", "internal/stages", "prom", "opa/plugin"}

// pluginCopy is the folder of OPA's source tree that holds a copy of the
// plugin's code, of a checkout: Go records the path of a replacement in the
// binary, which must not depend on where the checkout is. The packages of
// OPA's module do not count a folder of this name.
const pluginCopy = "_regometer"

// A plugin is the source of the plugin.
type plugin struct {
	version string   // of our modules, to download, or ""
	dir     string   // a checkout, or ""
	files   []string // of the checkout, relative to dir, that the plugin is made of
	content string   // identifies the content
}

// findPlugin returns the plugin that belongs to this program: the one of the
// same version or, if the program was built in a checkout, that checkout's.
func findPlugin() (*plugin, error) {
	if version := ownVersion(); version != "" {
		return &plugin{version: version, content: "version " + version}, nil
	}
	// The compiler records where this file was: built by `go install` in a
	// checkout, the program is run elsewhere.
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

// ownVersion returns the released version that this program was built from, ""
// if it was built in a checkout. A release has one version for all modules.
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
		if m := moduleLine.FindSubmatch(mod); m == nil || string(m[1]) != modulePath(name) {
			return false
		}
	}
	return true
}

func modulePath(name string) string {
	if name == "" {
		return ourModule
	}
	return ourModule + "/" + name
}

func checkoutPlugin(dir string) (*plugin, error) {
	p := &plugin{dir: dir}
	h := sha256.New()
	add := func(file string) error {
		p.files = append(p.files, file)
		text, err := os.ReadFile(filepath.Join(dir, file))
		fmt.Fprintf(h, "%q %d\n%s", filepath.ToSlash(file), len(text), text)
		return err
	}
	for _, name := range pluginModules {
		if err := add(filepath.Join(name, "go.mod")); err != nil {
			return nil, err
		}
	}
	for _, folder := range pluginFolders {
		err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			return add(rel)
		})
		if err != nil {
			return nil, err
		}
	}
	p.content = "folder " + hex.EncodeToString(h.Sum(nil))
	return p, nil
}

// A localPlugin is where the plugin's source is.
type localPlugin struct {
	modules  map[string]string // the folder of each of pluginModules
	language string            // that it is written in, such as "go1.25"
}

// local gets the plugin's source, downloading it if need be.
func (p *plugin) local(ctx context.Context) (l localPlugin, err error) {
	l.modules = map[string]string{}
	for _, name := range pluginModules {
		if p.dir != "" {
			l.modules[name] = filepath.Join(p.dir, name)
			continue
		}
		m, err := download(ctx, "the plugin of Regometer", modulePath(name), p.version)
		if err != nil {
			return l, err
		}
		l.modules[name] = m.Dir
	}
	file := filepath.Join(l.modules["opa"], "go.mod")
	mod, err := os.ReadFile(file)
	if err != nil {
		return l, err
	}
	m := goLine.FindSubmatch(mod)
	if m == nil {
		return l, fmt.Errorf("no go line in %s", file)
	}
	l.language = fmt.Sprintf("go%s.%s", m[1], m[2])
	return l, nil
}

// folder returns where one of pluginFolders is.
func (l localPlugin) folder(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if dir := l.modules[first]; dir != "" {
		return filepath.Join(dir, rest)
	}
	return filepath.Join(l.modules[""], name)
}

// require makes the source tree of OPA in dir require the plugin's modules, as
// `go get` would, but without a look at what is newest: no dependency of OPA's
// moves, since our modules ask for no version that is newer than its own.
func (p *plugin) require(ctx context.Context, dir string) error {
	edits := []string{"mod", "edit"}
	ours := filepath.Join(p.dir, "opa")
	if p.dir == "" {
		m, err := download(ctx, "the plugin of Regometer", ourModule+"/opa", p.version)
		if err != nil {
			return err
		}
		ours = m.Dir
		edits = append(edits, "-require="+modulePath("opa")+"@"+p.version)
	} else {
		for _, file := range p.files {
			if err := copyFile(filepath.Join(dir, pluginCopy, file), filepath.Join(p.dir, file)); err != nil {
				return err
			}
		}
		// All of them, since a replacement counts in the main module alone.
		for _, name := range pluginModules {
			modPath := modulePath(name)
			edits = append(edits, "-require="+modPath+"@v0.0.0", "-replace="+modPath+"=./"+path.Join(pluginCopy, name))
		}
	}
	language, err := raiseLanguage(filepath.Join(dir, "go.mod"), filepath.Join(ours, "go.mod"))
	if err != nil {
		return err
	}
	edits = append(edits, language...)
	if err := (gotool.Command{Dir: dir, Args: edits}).Run(ctx); err != nil {
		return err
	}
	// Without these Go would ask its checksum database, if it may. A line that
	// is there twice does no harm.
	return appendFile(filepath.Join(dir, "go.sum"), filepath.Join(ours, "go.sum"))
}

// copyFile copies a file, and makes its folder.
func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	return err
}

var (
	goLine       = regexp.MustCompile(`(?m)^go[ \t]+(\d+)\.(\d+)\S*`)
	defaultDebug = regexp.MustCompile(`(?m)^(?:godebug[ \t]+|[ \t]+)default=`)
)

// raiseLanguage returns the edits by which one go.mod may require a module
// with another: its go line must not be below that one's. What Go derives from
// the go line at run time, the defaults of GODEBUG, stays as it was: the
// drop-in is to be the only difference.
func raiseLanguage(file, required string) (edits []string, err error) {
	theirs, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ours, err := os.ReadFile(required)
	if err != nil {
		return nil, err
	}
	have, want := goLine.FindSubmatch(theirs), goLine.FindSubmatch(ours)
	if have == nil || want == nil {
		return nil, fmt.Errorf("no go line in %s or %s", file, required)
	}
	number := func(text []byte) int {
		n, _ := strconv.Atoi(string(text)) // digits, by the pattern
		return n
	}
	if cmp.Or(cmp.Compare(number(have[1]), number(want[1])), cmp.Compare(number(have[2]), number(want[2]))) >= 0 {
		return nil, nil
	}
	// A toolchain line was meant for the old go line.
	edits = []string{strings.ReplaceAll("-"+string(want[0]), " ", "="), "-toolchain=none"}
	if !defaultDebug.Match(theirs) {
		edits = append(edits, fmt.Sprintf("-godebug=default=go%s.%s", have[1], have[2]))
	}
	return edits, nil
}

// appendFile appends the content of a file, if it is there, to another.
func appendFile(to, from string) error {
	text, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package contents collects the licences of the modules in a program that Go
// built.
package contents

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/gotool"
)

// A Program is a binary that Go built.
type Program struct {
	OPA  string // the version of OPA, such as v1.2.3, if the program is OPA itself
	Info *buildinfo.BuildInfo
	// Folders has the folders of modules whose source is here, by module path.
	Folders map[string]string
}

// Notices returns the texts of all licences in the program. missing lists the
// modules without a licence. It downloads modules whose source is not here. env
// is added to the environment of the go command.
func (p *Program) Notices(ctx context.Context, env []string) (text []byte, missing []string, err error) {
	modules := p.modules()
	if err := p.findFolders(ctx, env, modules); err != nil {
		return nil, nil, err
	}
	return p.notices(modules)
}

const (
	opaModule       = "github.com/open-policy-agent/opa"
	standardLibrary = "std"
)

// modules returns all modules in the program, sorted by path: Go's standard
// library, and OPA if the program is a changed OPA, but not the main module. A
// module that was built from a folder, and not from a module proxy, has no
// version.
func (p *Program) modules() []*debug.Module {
	all := []*debug.Module{{Path: standardLibrary, Version: strings.TrimPrefix(p.Info.GoVersion, "go")}}
	if p.OPA != "" {
		all = append(all, &debug.Module{Path: opaModule, Version: p.OPA})
	}
	for _, m := range p.Info.Deps {
		from := cmp.Or(m.Replace, m)
		if !strings.HasPrefix(from.Version, "v") {
			from = &debug.Module{Path: m.Path}
			if m.Path == opaModule { // a changed copy of the release
				from.Version = m.Version
			}
		}
		all = append(all, from)
	}
	slices.SortFunc(all, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// findFolders adds the sources of modules to p.Folders. It leaves out modules
// that no module proxy has.
func (p *Program) findFolders(ctx context.Context, env []string, modules []*debug.Module) error {
	p.Folders = maps.Clone(p.Folders)
	if p.Folders == nil {
		p.Folders = map[string]string{}
	}
	dir, err := os.MkdirTemp("", "regometer-modules-") // outside of any module
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if p.Folders[standardLibrary] == "" {
		goroot, err := gotool.Command{Dir: dir, Args: []string{"env", "GOROOT"}, Env: env}.Output(ctx)
		if err != nil {
			return err
		}
		p.Folders[standardLibrary] = strings.TrimSpace(string(goroot))
	}
	args := []string{"mod", "download", "-json", "--"}
	for _, m := range modules {
		if p.Folders[m.Path] == "" && strings.HasPrefix(m.Version, "v") {
			args = append(args, m.Path+"@"+m.Version)
		}
	}
	if args[len(args)-1] == "--" {
		return nil
	}
	out, failed := gotool.Command{Dir: dir, Args: args, Env: env}.Output(ctx) // fails if one is missing
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return errors.Join(failed, err)
		}
		if m.Dir != "" {
			p.Folders[m.Path] = m.Dir
		}
	}
	return ctx.Err()
}

// licenceFile matches the names of files with licences, notices and the like.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[sc]e|copying|copyright|notice|patents)s?([.-][\w.-]+)?$`)

// notices returns the texts of all licences of the modules, each once, with the
// names of its files. missing lists the modules whose folder has no licence,
// because a licence in a folder below may hold only for a part. Modules without
// a version are the user's own.
func (p *Program) notices(modules []*debug.Module) (text []byte, missing []string, err error) {
	var texts []string               // in the order of their first files
	holders := map[string][]string{} // the files of a text
	for _, m := range modules {
		found := m.Version == ""
		if dir, ok := p.Folders[m.Path]; ok {
			source := os.DirFS(dir)
			err = fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case d.IsDir() && name != "." && (m.Path == standardLibrary || d.Name() == "testdata" || d.Name() == "node_modules"):
					return fs.SkipDir
				case d.IsDir() || !licenceFile.MatchString(d.Name()) || path.Ext(name) == ".go":
					return nil
				}
				content, err := fs.ReadFile(source, name)
				text := strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n"))
				if holders[text] == nil {
					texts = append(texts, text)
				}
				holders[text] = append(holders[text], m.Path+" "+m.Version+": "+name)
				found = found || !strings.Contains(name, "/")
				return err
			})
			if err != nil {
				return nil, nil, err
			}
		}
		if !found {
			missing = append(missing, m.Path+" "+m.Version)
		}
	}
	var out bytes.Buffer
	out.WriteString("The licences of all parts of the program, each below the names of its files.\n")
	line := strings.Repeat("=", 80)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(holders[text], "\n"), line, text)
	}
	return out.Bytes(), missing, nil
}

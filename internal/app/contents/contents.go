// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package contents describes what is in a program that Go built: the licences
// of its modules, and a bill of materials.
package contents

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/regometer/regometer/internal/app/gotool"
)

// A Program is a binary that Go built.
type Program struct {
	Name     string // such as regometer or opa
	Version  string
	OPA      string // the version of OPA, such as v1.2.3, if the program is a changed OPA
	Platform string
	// Description says what the program is, and what changed OPA.
	Description string
	Info        *buildinfo.BuildInfo
}

// OPAModule is the path of OPA's module.
const OPAModule = "github.com/open-policy-agent/opa"

const standardLibrary = "std"

// url returns the package URL of a module.
func url(m *debug.Module) string {
	return strings.TrimSuffix("pkg:golang/"+m.Path+"@"+strings.ReplaceAll(m.Version, "+", "%2B"), "@")
}

// Modules returns all modules in the program, sorted by path: Go's standard
// library, and OPA if the program is a changed OPA, but not the main module. A
// module that was built from a folder, and not from a module proxy, has no
// version.
func (p *Program) Modules() []*debug.Module {
	all := []*debug.Module{{Path: standardLibrary, Version: strings.TrimPrefix(p.Info.GoVersion, "go")}}
	if p.OPA != "" {
		all = append(all, &debug.Module{Path: OPAModule, Version: p.OPA})
	}
	for _, m := range p.Info.Deps {
		from := cmp.Or(m.Replace, m)
		if !strings.HasPrefix(from.Version, "v") {
			from = &debug.Module{Path: m.Path}
			if m.Path == OPAModule { // a changed copy of the release
				from.Version = m.Version
			}
		}
		all = append(all, from)
	}
	slices.SortFunc(all, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// FindFolders adds the folders with the source of modules to folders, whose
// keys are paths of modules. It downloads missing modules, and leaves out those
// that no module proxy has. env is added to the environment of the go command.
func FindFolders(ctx context.Context, env []string, modules []*debug.Module, folders map[string]string) error {
	dir, err := os.MkdirTemp("", "regometer-modules-") // outside of any module
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	goroot, err := gotool.Command{Dir: dir, Args: []string{"env", "GOROOT"}, Env: env}.Output(ctx)
	if err != nil {
		return err
	}
	folders[standardLibrary] = strings.TrimSpace(string(goroot))
	args := []string{"mod", "download", "-json", "--"}
	for _, m := range modules {
		if folders[m.Path] == "" && m.Version != "" {
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
			folders[m.Path] = m.Dir
		}
	}
	return ctx.Err()
}

// BillOfMaterials returns modules of the program in CycloneDX's JSON, without
// time and serial number. As is usual there, a module's hash is the one in
// go.sum.
func (p *Program) BillOfMaterials(modules []*debug.Module) ([]byte, error) {
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: p.Name, Version: p.Version,
		BOMRef:      p.Name + "_" + p.Version + "_" + strings.ReplaceAll(p.Platform, "/", "_"),
		Description: p.Description, Properties: &[]cdx.Property{{Name: "regometer:platform", Value: p.Platform}},
	}
	if p.OPA == "" {
		main.PackageURL = url(&debug.Module{Path: p.Info.Main.Path, Version: p.Version})
	} else {
		opa := url(&debug.Module{Path: OPAModule, Version: p.OPA})
		ancestor := cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: "ancestor:" + opa, Name: OPAModule, Version: p.OPA, PackageURL: opa}
		main.Pedigree = &cdx.Pedigree{Ancestors: &[]cdx.Component{ancestor}, Notes: p.Description}
	}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url(m), Name: m.Path, Version: m.Version, PackageURL: url(m)}
		if hash, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			sum, err := base64.StdEncoding.DecodeString(hash)
			if err != nil {
				return nil, fmt.Errorf("the checksum of %s: %w", m.Path, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bill := cdx.NewBOM()
	bill.Metadata = &cdx.Metadata{Component: &main}
	bill.Components = &components
	bill.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// licenceFile matches the names of files with licences, notices and the like.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[sc]e|copying|copyright|notice|patents)s?([.-][\w.-]+)?$`)

// Notices returns the texts of all licences of the modules, each once, with the
// names of its files. folders has the modules' sources by path. missing lists
// the modules whose folder has no licence, because a licence in a folder below
// may hold only for a part. Modules without a version are the user's own.
func Notices(modules []*debug.Module, folders map[string]string) (text []byte, missing []string, err error) {
	var texts []string               // in the order of their first files
	holders := map[string][]string{} // the files of a text
	for _, m := range modules {
		found := m.Version == ""
		if dir, ok := folders[m.Path]; ok {
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

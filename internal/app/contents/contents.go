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
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
	"github.com/google/uuid"
	"golang.org/x/mod/modfile"

	"github.com/regometer/regometer/internal/app/gotool"
)

// A Program is a binary that Go built.
type Program struct {
	Name        string // such as regometer or opa
	Version     string
	OPA         string // the version of OPA, such as v1.2.3, if the program is OPA itself
	Platform    string
	Description string
	Changes     string // to the OPA inside, and who made them; "" if it is as released
	Regometer   string // the version of the regometer that describes the program
	Info        *buildinfo.BuildInfo
	// Folders has the folders of modules whose source is here, by module path.
	Folders map[string]string
}

// Documents returns the texts of all licences in the program, and its bill of
// materials. missing lists the modules without a licence. It downloads modules
// whose source is not here. env is added to the environment of the go command.
func (p *Program) Documents(ctx context.Context, env []string) (notices, bill []byte, missing []string, err error) {
	modules := p.modules()
	if err = p.findFolders(ctx, env, modules); err == nil {
		notices, missing, err = p.notices(modules)
	}
	if err == nil {
		bill, err = p.billOfMaterials(modules)
	}
	return notices, bill, missing, err
}

// OPAModule is the path of OPA's module.
const OPAModule = "github.com/open-policy-agent/opa"

const (
	standardLibrary = "std"
	ownModule       = "github.com/regometer/regometer"
)

// url returns the package URL of a module.
func url(m *debug.Module) string {
	return strings.TrimSuffix("pkg:golang/"+m.Path+"@"+strings.ReplaceAll(m.Version, "+", "%2B"), "@")
}

// modules returns all modules in the program, sorted by path: Go's standard
// library, and OPA if the program is a changed OPA, but not the main module. A
// module that was built from a folder, and not from a module proxy, has no
// version.
func (p *Program) modules() []*debug.Module {
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

// findFolders adds the sources of the program and of modules to p.Folders. It
// leaves out modules that no module proxy has.
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
	if p.OPA == "" {
		modules = append(slices.Clip(modules), &p.Info.Main)
	}
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

// billOfMaterials returns the program and its modules in CycloneDX's JSON. The
// same program has the same bill, because its serial number is a hash of the
// rest, and the bill has no time. As is usual there, a module's hash is the one
// in go.sum.
func (p *Program) billOfMaterials(modules []*debug.Module) ([]byte, error) {
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: p.Name, Version: p.Version, Supplier: supplier(p.Info.Main.Path),
		BOMRef:      p.Name + "_" + p.Version + "_" + strings.ReplaceAll(p.Platform, "/", "_"),
		Description: p.Description, Properties: &[]cdx.Property{{Name: "regometer:platform", Value: p.Platform}},
		Licenses: licences(p.Folders[p.Info.Main.Path]),
	}
	switch {
	case p.OPA == "":
		main.PackageURL = url(&debug.Module{Path: p.Info.Main.Path, Version: p.Version})
	case p.Changes != "":
		main.Supplier = supplier(ownModule)
	}
	refs := map[string]string{} // by a module's path
	var components []cdx.Component
	for _, m := range modules {
		c := cdx.Component{
			Type: cdx.ComponentTypeLibrary, BOMRef: url(m), Name: m.Path, Version: m.Version, PackageURL: url(m),
			Supplier: supplier(m.Path), Licenses: licences(p.Folders[m.Path]),
		}
		if hash, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			sum, err := base64.StdEncoding.DecodeString(hash)
			if err != nil {
				return nil, fmt.Errorf("the checksum of %s: %w", m.Path, err)
			}
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		if m.Path == OPAModule && p.Changes != "" {
			released := c
			released.BOMRef = "released:" + c.BOMRef
			c.Supplier = supplier(ownModule)
			c.Pedigree = &cdx.Pedigree{
				Ancestors: &[]cdx.Component{released}, Patches: &[]cdx.Patch{{Type: cdx.PatchTypeUnofficial}}, Notes: p.Changes,
			}
		}
		components = append(components, c)
		refs[m.Path] = c.BOMRef
	}
	bill := cdx.NewBOM()
	bill.Metadata = &cdx.Metadata{Component: &main, Tools: &cdx.ToolsChoice{Components: &[]cdx.Component{
		{Type: cdx.ComponentTypeApplication, Name: "regometer", Version: p.Regometer, Supplier: supplier(ownModule)},
	}}}
	bill.Components = &components
	bill.Dependencies = p.dependencies(main.BOMRef, modules, refs)
	for {
		var out bytes.Buffer
		err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cdx.SpecVersion1_6)
		if err != nil || bill.SerialNumber != "" {
			return out.Bytes(), err
		}
		bill.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, out.Bytes()).URN()
	}
}

// dependencies returns the tree of the program's modules, from their go.mod
// files. refs names the modules in the tree. The program itself, which main
// names, also depends on all modules that no other module requires.
func (p *Program) dependencies(main string, modules []*debug.Module, refs map[string]string) *[]cdx.Dependency {
	for _, m := range p.Info.Deps {
		if m.Replace != nil && refs[m.Path] == "" {
			refs[m.Path] = refs[m.Replace.Path]
		}
	}
	requires := func(path string) (found []string) {
		dir, ok := p.Folders[path]
		if !ok {
			return nil
		}
		text, _ := os.ReadFile(filepath.Join(dir, "go.mod")) // an old module has none
		file, err := modfile.ParseLax("go.mod", text, nil)
		if err != nil {
			return nil
		}
		for _, r := range file.Require {
			if ref := refs[r.Mod.Path]; ref != "" && !r.Indirect && !slices.Contains(found, ref) {
				found = append(found, ref)
			}
		}
		return found
	}
	direct := requires(p.Info.Main.Path)
	if p.OPA != "" {
		direct = []string{refs[OPAModule]}
	}
	tree, required := []cdx.Dependency{{Ref: main}}, map[string]bool{}
	for _, m := range modules {
		found := requires(m.Path)
		tree = append(tree, cdx.Dependency{Ref: refs[m.Path], Dependencies: &found})
		for _, ref := range found {
			required[ref] = true
		}
	}
	for _, m := range modules {
		if ref := refs[m.Path]; !required[ref] && !slices.Contains(direct, ref) {
			direct = append(direct, ref)
		}
	}
	tree[0].Dependencies = &direct
	return &tree
}

// host matches the part of a module's path that names its supplier: the owner
// of a repository at a host that many share, or else the host.
var host = regexp.MustCompile(`^(?:(?:github|gitlab)\.com|bitbucket\.org|codeberg\.org)/[^/]+|^[^/]+`)

// supplier returns the supplier of a module.
func supplier(module string) *cdx.OrganizationalEntity {
	if module == standardLibrary {
		module = "go.dev"
	}
	name := host.FindString(module)
	return &cdx.OrganizationalEntity{Name: name, URL: &[]string{"https://" + name}}
}

// unlisted are the licences that licensecheck knows and SPDX does not list.
var unlisted = strings.Fields("Aladdin-9 Anti996 BSD-1-Clause-Clear BSD-3-Clause-NoTrademark CC-BY-NC-SA-3.0-US CommonsClause " +
	"GPL-2.0-or-3.0 GooglePatentClause GooglePatentsFile MIT-NoAd Prosperity-3.0.0")

// licences returns the licences whose texts are in a folder. It returns nil if
// it knows none.
func licences(dir string) *cdx.Licenses {
	var found cdx.Licenses
	entries, _ := os.ReadDir(dir) // none if there is no source
	for _, e := range entries {
		if !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(dir, e.Name())) // notices reports errors
		for _, m := range licensecheck.Scan(text).Match {
			licence := cdx.License{ID: m.ID}
			if slices.Contains(unlisted, m.ID) {
				licence = cdx.License{Name: m.ID}
			}
			if !slices.ContainsFunc(found, func(c cdx.LicenseChoice) bool { return *c.License == licence }) {
				found = append(found, cdx.LicenseChoice{License: &licence})
			}
		}
	}
	if found == nil {
		return nil
	}
	return &found
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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A component is a module in a program.
type component struct {
	path    string // or standardLibrary
	version string // such as v1.2.3, of Go 1.26.0
	sum     string // as in go.sum, "" if unknown
}

const (
	standardLibrary = "std"
	opaModule       = "github.com/open-policy-agent/opa"
)

func (c component) String() string { return c.path + " " + c.version }

// url returns the package URL.
func (c component) url() string {
	return "pkg:golang/" + c.path + "@" + strings.ReplaceAll(c.version, "+", "%2B")
}

// modules returns all modules in the program, sorted by path: Go's standard
// library, and OPA in the program opa, but not the command regometer itself.
func (p *program) modules() []component {
	all := []component{{path: standardLibrary, version: strings.TrimPrefix(p.info.GoVersion, "go")}}
	if p.OPA != "" {
		all = append(all, component{path: opaModule, version: p.OPA})
	}
	for _, m := range p.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, component{m.Path, m.Version, m.Sum})
	}
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.path, b.path) })
	return all
}

// billOfMaterials returns the program's modules in CycloneDX's JSON, without
// time and serial number. As usual there, a module's hash is the one in go.sum.
func (p *program) billOfMaterials(modules []component) ([]byte, error) {
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: p.base(), Name: p.Name, Version: p.Version,
		Properties: &[]cdx.Property{{Name: "regometer:platform", Value: p.Platform}},
	}
	if p.OPA == "" {
		main.PackageURL = component{path: p.info.Main.Path, version: p.Version}.url()
	} else {
		main.Description = "OPA " + p.OPA + " with its package v1/metrics replaced by Regometer's, Regometer's plugin, " +
			"and a hook in its package v1/runtime by which the plugin gets each decision"
	}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: m.url(), Name: m.path, Version: m.version, PackageURL: m.url()}
		if m.sum != "" {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:"))
			if err != nil {
				return nil, fmt.Errorf("the checksum of %s: %w", m, err)
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

// thirdPartyNotices returns the texts of all licences of the components, each
// once, with the names of its files. It fails if the folder of a component's
// source has no licence. One in a folder below may hold only for a part.
func thirdPartyNotices(components []component, dirOf func(module, version string) (string, error)) ([]byte, error) {
	holders := map[string][]string{} // by text
	for _, c := range components {
		dir, err := dirOf(c.path, c.version)
		if err != nil {
			return nil, err
		}
		found, source := false, os.DirFS(dir)
		err = fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && name != "." && (c.path == standardLibrary || d.Name() == "testdata" || d.Name() == "node_modules"):
				return fs.SkipDir
			case d.IsDir() || !licenceFile.MatchString(d.Name()) || path.Ext(name) == ".go":
				return nil
			}
			content, err := fs.ReadFile(source, name)
			text := strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n"))
			holders[text] = append(holders[text], c.String()+": "+name)
			found = found || !strings.Contains(name, "/")
			return err
		})
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence: there is no file such as LICENSE in %s", c, dir)
		}
	}
	for _, files := range holders {
		slices.Sort(files)
	}
	var out bytes.Buffer
	out.WriteString("The licences of all that is in the program, each after the files that it is from.\n")
	line := strings.Repeat("=", 80)
	byFile := func(a, b string) int { return strings.Compare(holders[a][0], holders[b][0]) }
	for _, text := range slices.SortedFunc(maps.Keys(holders), byFile) {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(holders[text], "\n"), line, text)
	}
	return out.Bytes(), nil
}

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
	"os"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/regometer/regometer/bench/internal/measure"
)

const standardLibrary = "std"

// url returns the package URL of a module.
func url(m *debug.Module) string {
	return "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
}

// modules returns all modules in the program, sorted by path: Go's standard
// library, and OPA in the program opa, but not the command regometer itself.
func (p *program) modules() []*debug.Module {
	all := []*debug.Module{{Path: standardLibrary, Version: strings.TrimPrefix(p.info.GoVersion, "go")}}
	if p.OPA != "" {
		all = append(all, &debug.Module{Path: measure.OPAModule, Version: p.OPA})
	}
	for _, m := range p.info.Deps {
		all = append(all, cmp.Or(m.Replace, m))
	}
	slices.SortFunc(all, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// billOfMaterials returns the program's modules in CycloneDX's JSON, without
// time and serial number. As is usual there, a module's hash is the one in
// go.sum.
func (p *program) billOfMaterials(modules []*debug.Module) ([]byte, error) {
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: p.base(), Name: p.Name, Version: p.Version,
		Properties: &[]cdx.Property{{Name: "regometer:platform", Value: p.Platform}},
	}
	if p.OPA == "" {
		main.PackageURL = url(&debug.Module{Path: p.info.Main.Path, Version: p.Version})
	} else {
		main.Description = "OPA " + p.OPA + " with its package v1/metrics replaced by Regometer's, Regometer's plugin, " +
			"and a hook in its package v1/runtime that hands the plugin each decision"
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

// thirdPartyNotices returns the texts of all licences of the modules, each
// once, with the names of its files. It fails if the folder of a module's
// source has no licence, because a licence in a folder below may hold only for
// a part.
func thirdPartyNotices(modules []*debug.Module, dirOf func(module, version string) (string, error)) ([]byte, error) {
	var texts []string               // in the order of their first files
	holders := map[string][]string{} // the files of a text
	for _, m := range modules {
		dir, err := dirOf(m.Path, m.Version)
		if err != nil {
			return nil, err
		}
		found, source := false, os.DirFS(dir)
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
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("%s %s has no licence: there is no file such as LICENSE in %s", m.Path, m.Version, dir)
		}
	}
	var out bytes.Buffer
	out.WriteString("The licences of all parts of the program, each below the names of its files.\n")
	line := strings.Repeat("=", 80)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(holders[text], "\n"), line, text)
	}
	return out.Bytes(), nil
}

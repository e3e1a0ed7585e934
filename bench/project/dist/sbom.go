// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
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

// modules returns all modules in the program, by path: Go's standard library,
// and OPA in the program opa, but not the command regometer itself.
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

// billOfMaterials returns what is in the program in CycloneDX's JSON, without
// time and serial number. What a module's go.sum has of it is its hash, as is
// usual there.
func (p *program) billOfMaterials(modules []component) ([]byte, error) {
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: p.base(), Name: p.Name, Version: p.Version,
		Properties: &[]cdx.Property{{Name: "regometer:platform", Value: p.Platform.String()}},
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
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

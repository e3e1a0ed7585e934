// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/regometer/regometer/bench/project"
)

// programs are those that the test's build information could be of.
func programs() map[string]*program {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/command", Version: "v0.1.0"},
		Deps: []*debug.Module{
			{Path: "z.b/replaced", Version: "v1.0.0", Replace: &debug.Module{Path: "a.b/fork", Version: "v1.0.1", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}},
			{Path: "a.b/old", Version: "v2.0.0+incompatible", Sum: "h1:" + strings.Repeat("/", 42) + "8="},
		},
	}
	platform := project.Platform{OS: "windows", Arch: "arm64"}
	return map[string]*program{
		"regometer": {Name: "regometer", Version: "v0.1.0", Platform: platform, info: info},
		"opa":       {Name: "opa", Version: "v0.1.0", OPA: "v1.22.0", Platform: platform, info: info},
	}
}

// schema is CycloneDX's own, which comes with its library.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(schemas(filepath.Join(strings.TrimSpace(string(dir)), "schema")))
	s, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemas loads schemas from a folder, by the last part of their addresses.
type schemas string

func (s schemas) Load(url string) (any, error) {
	file := filepath.Join(string(s), path.Base(url))
	if path.Base(url) == "jsf-0.82.schema.json" {
		file = filepath.Join(string(s), "jsf-0.82.schemax.json") // as it is called there
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func TestBillOfMaterials(t *testing.T) {
	s := schema(t)
	for name, p := range programs() {
		text, err := p.billOfMaterials(p.modules())
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var bom cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		if bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
			t.Errorf("%s: the serial number is %q, the time %q", name, bom.SerialNumber, bom.Metadata.Timestamp)
		}
		want := []string{
			"pkg:golang/a.b/fork@v1.0.1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
			"pkg:golang/a.b/old@v2.0.0%2Bincompatible " + strings.Repeat("ff", 32),
			"pkg:golang/github.com/open-policy-agent/opa@v1.22.0 ",
			"pkg:golang/std@1.26.8 ",
		}
		if name == "regometer" {
			want = slices.Delete(want, 2, 3)
		}
		var got []string
		for _, c := range *bom.Components {
			hash := ""
			if c.Hashes != nil {
				hash = (*c.Hashes)[0].Value
			}
			got = append(got, c.PackageURL+" "+hash)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if deps := (*bom.Dependencies)[0]; deps.Ref != bom.Metadata.Component.BOMRef || len(*deps.Dependencies) != len(want) {
			t.Errorf("%s: the dependencies are %+v", name, deps)
		}
		again, err := p.billOfMaterials(p.modules())
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s is another the second time: %v", name, err)
		}
	}
}

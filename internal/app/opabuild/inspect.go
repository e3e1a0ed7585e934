// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
)

// A Binary has the parts of a binary of opa, or of a program with OPA inside.
type Binary struct {
	Record
	Program  string // the main package, unless it is OPA's own
	Replaced string // the module that replaces OPA's, unless it is our copy
	Adapter  string // the version of package opa, if the program imports it
	Imported string // the version of package opa/plugin, if the program itself imports it
	Go       string // the Go that built it, such as "go1.26.0"
	Platform string // such as "linux/amd64"
}

// Unknown is the hash of a drop-in that [Build] has not put in.
const Unknown = "unknown"

// dropInFile is a file of the drop-in that OPA's own package lacks. A binary
// names the files of its functions. This program must not contain the name.
var dropInFile = path.Join("/", metricsDir, "collection.go")

// Inspect returns the parts of a binary of opa, or of another program with OPA
// inside. It does not run the binary, which may be for any platform.
func Inspect(file string) (*Binary, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe or a device might wait, or have an effect
		return nil, fmt.Errorf("%s is not an opa binary: it is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	built, err := buildinfo.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s is not a binary that Go built: %w", file, err)
	}
	module := func(name string) *debug.Module {
		all := append(slices.Clone(built.Deps), &built.Main)
		if i := slices.IndexFunc(all, func(m *debug.Module) bool { return m.Path == name }); i >= 0 {
			return all[i]
		}
		return nil
	}
	opa := module(opaModule)
	if opa == nil || opa == &built.Main && built.Path != opaModule {
		return nil, fmt.Errorf("%s is not an opa binary and has no OPA inside: it is built from %s", file, built.Path)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, s := range built.Settings {
		settings[s.Key] = s.Value
	}
	b := &Binary{Go: built.GoVersion, Platform: settings["GOOS"] + "/" + settings["GOARCH"]}
	if opa.Version != "(devel)" {
		b.OPA = strings.TrimPrefix(opa.Version, "v")
	}
	if built.Path != opaModule {
		b.Program = built.Path
	}
	if opa.Replace != nil && opa.Replace.Path != besideWork {
		b.Replaced = strings.TrimSpace(opa.Replace.Path + " " + strings.TrimSuffix(opa.Replace.Version, "(devel)"))
	}
	if r := findRecord(text); r != nil {
		b.Record = *r
	} else if bytes.Contains(text, []byte(dropInFile)) {
		b.DropIn = Unknown
	}
	// A binary names the packages of its functions.
	if m, adapter := module(ourModule+"/opa"), path.Join(ourModule, "opa"); m != nil {
		if bytes.Contains(text, []byte(adapter+".")) {
			b.Adapter = m.Version
		}
		if bytes.Contains(text, []byte(adapter+"/plugin.")) {
			b.Imported = m.Version
		}
	}
	return b, nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// A Binary has the parts of a binary of opa, or of a program with OPA inside.
type Binary struct {
	Record
	Program  string // the main package, unless it is OPA's own
	Go       string // the Go that built it, such as "go1.26.0"
	Platform string // such as "linux/amd64"
}

// Unknown is the hash of a drop-in that [Build] has not put in.
const Unknown = "unknown"

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
	modules := append(slices.Clone(built.Deps), &built.Main)
	i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == opaModule })
	if i < 0 || modules[i] == &built.Main && built.Path != opaModule {
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
	if version := modules[i].Version; version != "(devel)" {
		b.OPA = strings.TrimPrefix(version, "v")
	}
	if built.Path != opaModule {
		b.Program = built.Path
	}
	if r := findRecord(text); r != nil {
		b.Record = *r
	} else if bytes.Contains(text, []byte(dropInFile)) {
		b.DropIn = Unknown
	}
	return b, nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// A Platform is what a binary is for, in Go's names.
type Platform struct{ OS, Arch string }

// Platforms are those that a release has binaries for.
var Platforms = []Platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// HostPlatform returns the platform of this program.
func HostPlatform() Platform { return Platform{runtime.GOOS, runtime.GOARCH} }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Executable returns what an executable file is called on the platform.
func (p Platform) Executable(name string) string {
	if p.OS == "windows" {
		return name + ".exe"
	}
	return name
}

// env returns the variables that make the go command build for the platform,
// without C, and the same on every machine.
func (p Platform) env() []string {
	return []string{
		"GOOS=" + p.OS, "GOARCH=" + p.Arch, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off",
	}
}

// ParsePlatforms returns those of Platforms that a list such as
// "linux/amd64,windows/arm64" names, in the order of Platforms; all of them if
// the list is empty.
func ParsePlatforms(list string) ([]Platform, error) {
	if list == "" {
		return Platforms, nil
	}
	wanted := map[Platform]bool{}
	for name := range strings.SplitSeq(list, ",") {
		os, arch, _ := strings.Cut(strings.TrimSpace(name), "/")
		p := Platform{os, arch}
		if !slices.Contains(Platforms, p) {
			return nil, fmt.Errorf("there is no release for the platform %q, only for %v", name, Platforms)
		}
		wanted[p] = true
	}
	return slices.DeleteFunc(slices.Clone(Platforms), func(p Platform) bool { return !wanted[p] }), nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A Platform is a system and a processor to build for, by the names of
// container images: Go's GOOS and GOARCH and, for some processors, the
// generation that the binary needs.
type Platform struct {
	OS, Arch string
	Variant  string // "v6" of arm, "v3" of amd64; "" is the oldest, except v7 of arm
}

func (p Platform) String() string {
	if p.Variant == "" {
		return p.OS + "/" + p.Arch
	}
	return p.OS + "/" + p.Arch + "/" + p.Variant
}

// variants are the generations of a processor, the default first.
var variants = map[string][]string{
	"amd64": {"v1", "v2", "v3", "v4"},
	"arm":   {"v7", "v6", "v5"},
	"arm64": {"v8", "v9"},
}

var platformForm = regexp.MustCompile(`^([a-z0-9]+)/([a-z0-9]+)(?:/(v[0-9]))?$`)

// ParsePlatform reads a platform such as "linux/arm64" or "linux/arm/v6". Two
// ways to write the same platform give the same result. [Build] fails if Go
// cannot build for it.
func ParsePlatform(text string) (Platform, error) {
	m := platformForm.FindStringSubmatch(text)
	if m == nil {
		return Platform{}, fmt.Errorf("invalid platform %q: want a system and a processor, such as linux/arm64 or linux/arm/v6", text)
	}
	p := Platform{m[1], m[2], m[3]}
	known, ok := variants[p.Arch]
	if p.Variant != "" && !slices.Contains(known, p.Variant) {
		return Platform{}, fmt.Errorf("%s: Go does not know the variant %s of %s", text, p.Variant, p.Arch)
	}
	if !ok {
		return p, nil
	}
	// Images leave the default out, except arm's.
	if p.Variant == known[0] {
		p.Variant = ""
	}
	if p.Arch == "arm" {
		p.Variant = cmp.Or(p.Variant, known[0])
	}
	return p, nil
}

// env returns the variables by which go builds for the platform, whatever the
// user's variables say.
func (p Platform) env() []string {
	env := []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch}
	if known, ok := variants[p.Arch]; ok {
		value := cmp.Or(p.Variant, known[0])
		switch p.Arch {
		case "arm":
			value = value[1:]
		case "arm64":
			value += ".0"
		}
		env = append(env, "GO"+strings.ToUpper(p.Arch)+"="+value)
	}
	return env
}

// platformEnv returns the variables by which go builds for Options.Platform, or
// none if the platform is "".
func platformEnv(platform string) ([]string, error) {
	if platform == "" {
		return nil, nil
	}
	p, err := ParsePlatform(platform)
	return p.env(), err
}

// DefaultImagePlatform returns the default platform of an image: Linux, on this
// processor or that of GOARCH.
func DefaultImagePlatform() (Platform, error) {
	return ParsePlatform("linux/" + cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH))
}

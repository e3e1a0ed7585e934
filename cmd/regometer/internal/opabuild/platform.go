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

// variants are the generations of a processor, the default first.
var variants = map[string][]string{
	"amd64": {"v1", "v2", "v3", "v4"},
	"arm":   {"v7", "v6", "v5"},
	"arm64": {"v8", "v9"},
}

// platformForm matches a system, a processor and, for some processors, the
// generation that the binary needs, with the names that container images use.
var platformForm = regexp.MustCompile(`^([a-z0-9]+)/([a-z0-9]+)(?:/(v[0-9]))?$`)

// ParsePlatform reads a platform such as "linux/arm64" or "linux/arm/v6". It
// returns its usual name, and the variables that make go build for it, whatever
// the user's variables are.
func ParsePlatform(text string) (name string, env []string, err error) {
	m := platformForm.FindStringSubmatch(text)
	if m == nil {
		return "", nil, fmt.Errorf("invalid platform %q: write a system and a processor, such as linux/arm64 or linux/arm/v6", text)
	}
	system, processor, variant := m[1], m[2], m[3]
	known := variants[processor]
	if variant != "" && !slices.Contains(known, variant) {
		return "", nil, fmt.Errorf("%s: Go does not know the variant %s of %s", text, variant, processor)
	}
	name, env = system+"/"+processor, []string{"GOOS=" + system, "GOARCH=" + processor}
	if len(known) == 0 {
		return name, env, nil
	}
	variant = cmp.Or(variant, known[0])
	// Images leave out the default, except that of arm.
	if variant != known[0] || processor == "arm" {
		name += "/" + variant
	}
	switch processor {
	case "arm":
		variant = variant[1:]
	case "arm64":
		variant += ".0"
	}
	return name, append(env, "GO"+strings.ToUpper(processor)+"="+variant), nil
}

// platformEnv returns the variables that make go build for Options.Platform, or
// none if the platform is "". It fails if the platform is invalid.
func platformEnv(platform string) (env []string, err error) {
	if platform != "" {
		_, env, err = ParsePlatform(platform)
	}
	return env, err
}

// DefaultImagePlatform returns the default platform of an image: Linux, on this
// processor or that of GOARCH.
func DefaultImagePlatform() (name string, err error) {
	name, _, err = ParsePlatform("linux/" + cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH))
	return name, err
}

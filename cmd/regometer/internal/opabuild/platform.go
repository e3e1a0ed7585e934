// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"fmt"
	"regexp"
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

// CheckPlatform returns an error unless [Options.Platform] may have this value.
func CheckPlatform(platform string) error {
	_, err := platformEnv(platform)
	return err
}

// platformEnv returns the variables that make go build for a platform such as
// "linux/arm64" or "linux/arm/v6", whatever the user's variables are. It returns
// none if the platform is "".
func platformEnv(platform string) (env []string, err error) {
	if platform == "" {
		return nil, nil
	}
	m := platformForm.FindStringSubmatch(platform)
	if m == nil {
		return nil, fmt.Errorf("invalid platform %q: write one system and processor, such as linux/arm64 or linux/arm/v6", platform)
	}
	system, processor, variant := m[1], m[2], m[3]
	env, known := []string{"GOOS=" + system, "GOARCH=" + processor}, variants[processor]
	if variant != "" && !slices.Contains(known, variant) {
		return nil, fmt.Errorf("%s: Go does not know the variant %s of %s", platform, variant, processor)
	}
	if len(known) == 0 {
		return env, nil
	}
	variant = cmp.Or(variant, known[0])
	switch processor {
	case "arm":
		variant = variant[1:]
	case "arm64":
		variant += ".0"
	}
	return append(env, "GO"+strings.ToUpper(processor)+"="+variant), nil
}

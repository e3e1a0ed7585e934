// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The first and the last OPA release that the drop-in is tested with. All patch
// releases of the last minor release are supported. [Build] builds the last one
// by default. Older releases are refused, newer ones are tried.
const (
	OldestVersion = "v1.0.0"
	NewestVersion = newestMinor + ".0"
	NewestRange   = newestMinor + ".x" // for people
	newestMinor   = "v1.22"
)

// UpstreamVersion is the release that the series for OPA is written for: OPA's
// newest one, because its maintainers accept changes to no other.
const UpstreamVersion = "v1.22.2"

// exactVersion matches a version whose content never changes, unlike "latest"
// or a branch.
var exactVersion = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$`)

// checkRange returns an error if this OPA is too old, and a warning if its
// minor release is newer than the tested ones.
func checkRange(version string) (warning string, err error) {
	v, ok := parseVersion(version)
	if !ok {
		return fmt.Sprintf("OPA has the invalid version %q: the drop-in is tested with %s to %s", version, OldestVersion, NewestRange), nil
	}
	oldest, _ := parseVersion(OldestVersion)
	newest, _ := parseVersion(NewestVersion)
	switch {
	case slices.Compare(v[:], oldest[:]) < 0:
		return "", fmt.Errorf("OPA %s is too old: the drop-in replaces the package v1/metrics, which OPA has since %s (supported: %s to %s)",
			version, OldestVersion, OldestVersion, NewestRange)
	case slices.Compare(v[:2], newest[:2]) > 0:
		return fmt.Sprintf("OPA %s is newer than %s, the last one that the drop-in is tested with", version, NewestRange), nil
	}
	return "", nil
}

// parseVersion returns major, minor and patch, and 0 as the fourth number for
// a pre-release, else 1.
func parseVersion(version string) (v [4]int, ok bool) {
	m := exactVersion.FindStringSubmatch("v" + strings.TrimPrefix(version, "v"))
	if m == nil {
		return v, false
	}
	for i := range 3 {
		v[i], _ = strconv.Atoi(m[i+1]) // digits, by the pattern
	}
	if m[4] == "" {
		v[3] = 1
	}
	return v, true
}

var versionVariable = regexp.MustCompile(`(?m)^(?:var|const)\s+Version\s*=\s*"([^"]+)"`)

// treeVersion returns the version that a source tree of OPA gives itself.
func treeVersion(dir string) (string, error) {
	file := filepath.Join(dir, "v1", "version", "version.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m := versionVariable.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s: no variable Version", file)
	}
	return string(m[1]), nil
}

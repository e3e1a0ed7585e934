// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// The OPA releases that the drop-in is tested with, the first and the last,
// which is what [Build] builds if it is told none, and as which all patch
// releases of that minor release count. Older ones are refused, newer ones are
// tried. Whatever else names them is tested against these.
const (
	OldestVersion = "v1.0.0"
	NewestVersion = newestMinor + ".0"
	NewestRange   = newestMinor + ".x" // for people
	newestMinor   = "v1.22"
)

// rangeHint follows the compiler's error about an OPA with the drop-in.
const rangeHint = "\nThe drop-in supports OPA " + OldestVersion + " to " + NewestRange + ". Use one of these if this OPA builds without the drop-in."

// UpstreamVersion is the release that the series for OPA is written for: its
// newest one, since its maintainers take changes to nothing else.
const UpstreamVersion = "v1.22.2"

// exactVersion matches a version that names one content for ever, which
// "latest" or a branch does not.
var exactVersion = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$`)

// checkRange returns an error if this OPA is too old, and a warning if it is of
// a newer minor release than what is tested.
func checkRange(version string) (warning string, err error) {
	v, ok := parseVersion(version)
	if !ok {
		return fmt.Sprintf("OPA calls itself %q, which is no version: the drop-in is tested with %s to %s", version, OldestVersion, NewestRange), nil
	}
	oldest, _ := parseVersion(OldestVersion)
	newest, _ := parseVersion(NewestVersion)
	switch {
	case less(v, oldest):
		return "", fmt.Errorf("OPA %s is too old: the drop-in replaces the package v1/metrics, which OPA has since %s (supported: %s to %s)",
			version, OldestVersion, OldestVersion, NewestRange)
	case less(newest, v) && [2]int(v[:]) != [2]int(newest[:]):
		return fmt.Sprintf("OPA %s is newer than %s, the last ones that the drop-in is tested with", version, NewestRange), nil
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
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	if m[4] == "" {
		v[3] = 1
	}
	return v, true
}

func less(a, b [4]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
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

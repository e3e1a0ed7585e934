// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// The first and the last OPA release that the drop-in is tested with. All patch
// releases of the last minor release are supported. [Build] builds
// NewestVersion by default. It refuses older releases and tries newer ones. The
// series for OPA is written for NewestVersion, because OPA's maintainers accept
// changes only to their newest release.
const (
	OldestVersion = "v1.0.0"
	NewestVersion = "v1.22.4"
)

// NewestRange is the last minor release, for people.
var (
	NewestRange = newestMinor + ".x"
	newestMinor = NewestVersion[:strings.LastIndexByte(NewestVersion, '.')]
)

// exactVersion matches a version whose content never changes, unlike "latest"
// or a branch.
var exactVersion = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$`)

// checkRange returns an error if this OPA is too old, and a warning if its
// minor release is newer than the tested ones.
func checkRange(opa string) (warning string, err error) {
	// Go's versions have the same order, except those before a release.
	release, before, _ := strings.Cut("go"+strings.TrimPrefix(opa, "v"), "-")
	oldest, newest := "go"+OldestVersion[1:], "go"+newestMinor[1:]
	switch {
	case !version.IsValid(release):
		return fmt.Sprintf("OPA has the invalid version %q: the drop-in is tested with %s to %s", opa, OldestVersion, NewestRange), nil
	case version.Compare(release, oldest) < 0 || release == oldest && before != "":
		return "", fmt.Errorf("OPA %s is too old: it has no package v1/metrics, which the drop-in replaces: use OPA %s to %s",
			opa, OldestVersion, NewestRange)
	case version.Compare(version.Lang(release), newest) > 0:
		return fmt.Sprintf("OPA %s is newer than %s, the last one that the drop-in is tested with", opa, NewestRange), nil
	}
	return "", nil
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
		return "", fmt.Errorf("%s has no variable Version", file)
	}
	return string(m[1]), nil
}

const ourModule = "github.com/regometer/regometer"

// ownVersion returns the released version that this program was built from, or
// "" if it was built in a checkout. A release has one version for all modules.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == ourModule+"/opa" && m.Replace == nil && exactVersion.MatchString(m.Version) {
			return m.Version
		}
	}
	return ""
}

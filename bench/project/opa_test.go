// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/opabuild"
)

// TestDocumentsNameOPA: the releases of OPA that a document names in full are
// the oldest or the newest that is supported, or that of the series for OPA;
// and README.md says up to which patch releases.
func TestDocumentsNameOPA(t *testing.T) {
	for _, document := range documents {
		if document == "CHANGELOG.md" { // tells what was
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		wrong, _ := opaNames(document, string(text))
		for _, w := range wrong {
			t.Error(w)
		}
		want := opabuild.OldestVersion[1:] + " to " + opabuild.NewestRange[1:]
		if document == "README.md" && !strings.Contains(string(text), want) {
			t.Errorf("README.md does not say that OPA %s is supported", want)
		}
	}
}

// fullVersion matches a release such as 1.2.3, or 1.2.x, but no v0.1.0 of ours.
// The first group is there if it is one of Go.
var fullVersion = regexp.MustCompile(`\b(Go )?v?(1\.\d+\.(?:\d+|x))\b`)

// opaNames returns how many releases of OPA a document names, and a complaint
// of each that is not in use. The table of measurements says itself what was
// measured.
func opaNames(document, text string) (wrong []string, named int) {
	supported := []string{opabuild.OldestVersion[1:], opabuild.NewestVersion[1:], opabuild.NewestRange[1:]}
	measured := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(line, "<!-- measured:") {
			measured = line != tableEnd
		}
		if measured {
			continue
		}
		for _, match := range fullVersion.FindAllStringSubmatch(line, -1) {
			if match[1] != "" {
				continue
			}
			named++
			if !slices.Contains(supported, match[2]) && match[2] != opabuild.UpstreamVersion[1:] {
				wrong = append(wrong, fmt.Sprintf("%s:%d names OPA %s: the oldest supported is %s, the newest %s or %s, that of the series %s",
					document, number, match[2], supported[0], supported[1], supported[2], opabuild.UpstreamVersion[1:]))
			}
		}
	}
	return wrong, named
}

func TestOPANames(t *testing.T) {
	oldest, newest := opabuild.OldestVersion, opabuild.NewestVersion
	wrong, named := opaNames("README.md", "# Title\nOPA "+oldest[1:]+" to "+newest+", go1.26.8, Go 1.26.8, v0.1.0, "+opabuild.UpstreamVersion+
		" or "+opabuild.NewestRange[1:]+"\nOPA 1.999.0, 1.999.x\n"+tableBegin+"| OPA 1.999.1 |\n"+tableEnd+"1.999.2\n")
	var want []string
	for _, w := range []string{"3 names OPA 1.999.0", "3 names OPA 1.999.x", "7 names OPA 1.999.2"} {
		want = append(want, fmt.Sprintf("README.md:%s: the oldest supported is %s, the newest %s or %s, that of the series %s",
			w, oldest[1:], newest[1:], opabuild.NewestRange[1:], opabuild.UpstreamVersion[1:]))
	}
	if named != 7 || !slices.Equal(wrong, want) {
		t.Errorf("opaNames = %d names, %q\nwant 7, %q", named, wrong, want)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"go/format"
	"strings"
	"testing"
)

func TestFindRecord(t *testing.T) {
	t.Parallel()
	want := Record{Regometer: "v0.1.0", OPA: "1.5.0-\"x\"<\n>", DropIn: strings.Repeat("0f", 32), Plugin: true}
	text := want.Text()
	for _, c := range []struct {
		name, binary string
		found        bool
	}{
		{"nothing", "", false},
		{"alone", text, true},
		{"inside", "\x00" + text + "\x00", true},
		{"after a mark", recordMark + "other string" + recordMark + recordMark + text, true},
		{"after one that is none", recordMark + "{}\n" + text, true},
		{"cut short", text[:len(text)-1], false},
		{"no end", strings.TrimSuffix(text, "\n") + strings.Repeat(" ", 10000) + "\n", false},
		{"no JSON", recordMark + "{{.Text}}\n", false},
		{"no hash", recordMark + `{"opa":"1.5.0","dropIn":"0f"}` + "\n", false},
		{"no OPA", strings.Replace(text, `"opa"`, `"x"`, 1), false},
		{"of a later release", strings.Replace(text, "{", `{"more":[1],`, 1), true},
		{"another form", strings.Replace(text, " 1: ", " 2: ", 1), false},
	} {
		got := findRecord([]byte(c.binary))
		if (got != nil) != c.found || got != nil && *got != want {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
}

// The files that come into OPA are formatted as gofmt does.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, r := range []Record{{}, {Fixes: hookFix}, {Hook: true}, {Hook: true, Fixes: "a, " + hookFix}} {
		r.Regometer, r.OPA, r.DropIn, r.Plugin = "v0.1.0", "1.5.0", strings.Repeat("0f", 32), true
		for _, name := range []string{buildFile, pluginFile} {
			text := r.file(name)
			if want, err := format.Source(text); err != nil || !bytes.Equal(text, want) {
				t.Errorf("%v, %s is\n%s\nshould be\n%s", err, name, text, want)
			}
			if !bytes.HasPrefix(text, []byte("// Copyright 2026 The Regometer Authors\n// SPDX-License-Identifier: Apache-2.0\n\n")) {
				t.Errorf("%s has no licence header", name)
			}
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Chdir("../../..")
	for args, want := range map[string]string{
		"":                                    "name a command",
		"check v0.1.0":                        "name a command",
		"dist":                                "one version",
		"prepare v0.1.0 v0.2":                 "one version",
		"dist v0.1.0 linux/amd64 plan9/amd64": `invalid platform "plan9/amd64": use some of [linux/amd64 `,
		"dist banana":                         `invalid version "banana"`,
		"prepare v1.2":                        `invalid version "v1.2"`,
		"prepare v1.2.3+meta":                 `invalid version "v1.2.3+meta"`,
	} {
		if err := release(t.Context(), strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("release %s: the error is %v, want %q", args, err, want)
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePlatforms(t *testing.T) {
	linux, windows := Platform{"linux", "amd64"}, Platform{"windows", "arm64"}
	for list, want := range map[string][]Platform{
		"":                           Platforms,
		"linux/amd64":                {linux},
		"windows/arm64, linux/amd64": {linux, windows},
		"linux/amd64,linux/amd64":    {linux},
	} {
		if got, err := ParsePlatforms(list); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: got %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"linux", "linux/386", "linux/amd64,", "amd64/linux"} {
		if _, err := ParsePlatforms(list); err == nil || !strings.Contains(err.Error(), "windows/arm64") {
			t.Errorf("%q: the error is %v, want one that names the platforms", list, err)
		}
	}
}

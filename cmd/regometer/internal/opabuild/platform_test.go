// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"strings"
	"testing"
)

func TestParsePlatform(t *testing.T) {
	for _, c := range []struct{ text, want, env string }{
		{"linux/amd64", "linux/amd64", "GOOS=linux GOARCH=amd64 GOAMD64=v1"},
		{"linux/amd64/v1", "linux/amd64", "GOOS=linux GOARCH=amd64 GOAMD64=v1"},
		{"linux/amd64/v3", "linux/amd64/v3", "GOOS=linux GOARCH=amd64 GOAMD64=v3"},
		{"linux/arm64/v8", "linux/arm64", "GOOS=linux GOARCH=arm64 GOARM64=v8.0"},
		{"linux/arm", "linux/arm/v7", "GOOS=linux GOARCH=arm GOARM=7"},
		{"linux/arm/v7", "linux/arm/v7", "GOOS=linux GOARCH=arm GOARM=7"},
		{"linux/arm/v6", "linux/arm/v6", "GOOS=linux GOARCH=arm GOARM=6"},
		{"windows/riscv64", "windows/riscv64", "GOOS=windows GOARCH=riscv64"},
	} {
		p, env, err := ParsePlatform(c.text)
		if got := strings.Join(env, " "); err != nil || p != c.want || got != c.env {
			t.Errorf("%s is %s with %s, %v; want %s with %s", c.text, p, got, err, c.want, c.env)
		}
	}
	for _, text := range []string{"", "linux", "linux/", "/amd64", "linux/amd64/", "linux/amd64/v3/x", "Linux/amd64", "linux amd64", "linux/arm64,linux/amd64", "../x"} {
		if p, _, err := ParsePlatform(text); err == nil {
			t.Errorf("%q is taken for %s", text, p)
		}
	}
	_, _, err := ParsePlatform("linux/amd64/v9")
	checkError(t, "variant", err, "Go does not know the variant v9 of amd64")
	_, _, err = ParsePlatform("linux/riscv64/v1")
	checkError(t, "variant", err, "Go does not know the variant v1 of riscv64")
}

// Options.Platform has precedence over what the environment says.
func TestBuildPlatform(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "386")
	t.Setenv("GOAMD64", "v3")
	tree := writeTree(t, opaTree())
	path, _ := mustBuild(t, Options{OPA: tree, Platform: "linux/amd64"}, parts{})
	if settings := run(t, "go", "version", "-m", path); !strings.Contains(settings, "GOOS=linux") || !strings.Contains(settings, "GOARCH=amd64") || !strings.Contains(settings, "GOAMD64=v1") {
		t.Errorf("is built with\n%s", settings)
	}
	if other, _ := mustBuild(t, Options{OPA: tree, Platform: "linux/amd64/v2"}, parts{}); other == path {
		t.Error("another variant is the same binary")
	}
	if other, _ := mustBuild(t, Options{OPA: tree}, parts{}); !strings.HasSuffix(other, ".exe") {
		t.Errorf("without a platform it is %s", other)
	}
	for platform, want := range map[string]string{
		"linux/6502": "not supported on linux/6502",
		"arm64":      `invalid platform "arm64"`,
	} {
		_, err := Build(t.Context(), Options{OPA: tree, Platform: platform, with: &parts{}})
		checkError(t, platform, err, want)
	}

	t.Setenv("GOARCH", "arm64")
	if p, err := DefaultImagePlatform(); err != nil || p != "linux/arm64" {
		t.Errorf("images are for %s, %v", p, err)
	}
}

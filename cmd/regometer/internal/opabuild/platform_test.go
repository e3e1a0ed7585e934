// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"strings"
	"testing"
)

func TestPlatformEnv(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"linux/amd64", "GOOS=linux GOARCH=amd64 GOAMD64=v1"},
		{"linux/amd64/v3", "GOOS=linux GOARCH=amd64 GOAMD64=v3"},
		{"linux/arm64/v8", "GOOS=linux GOARCH=arm64 GOARM64=v8.0"},
		{"linux/arm", "GOOS=linux GOARCH=arm GOARM=7"},
		{"linux/arm/v6", "GOOS=linux GOARCH=arm GOARM=6"},
		{"windows/riscv64", "GOOS=windows GOARCH=riscv64"},
	} {
		env, err := platformEnv(c.text)
		if got := strings.Join(env, " "); err != nil || got != c.want {
			t.Errorf("%s is %s, %v; want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"linux", "linux/", "/amd64", "linux/amd64/", "linux/amd64/v3/x", "Linux/amd64", "linux amd64", "linux/arm64,linux/amd64", "../x"} {
		checkError(t, text, CheckPlatform(text), "write one system and processor")
	}
	checkError(t, "variant", CheckPlatform("linux/amd64/v9"), "Go does not know the variant v9 of amd64")
	checkError(t, "variant", CheckPlatform("linux/riscv64/v1"), "Go does not know the variant v1 of riscv64")
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
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/app/gotool"
)

// A Platform is a system and a processor to build for, by the names of
// container images: Go's GOOS and GOARCH and, for some processors, the
// generation that the binary needs.
type Platform struct {
	OS, Arch string
	Variant  string // "v6" of arm, "v3" of amd64; "" is the oldest, except v7 of arm
}

func (p Platform) String() string {
	if p.Variant == "" {
		return p.OS + "/" + p.Arch
	}
	return p.OS + "/" + p.Arch + "/" + p.Variant
}

// variants are Go's variables for generations of a processor. The first name is
// the default.
var variants = map[string]struct {
	variable string
	value    func(variant string) string
	names    []string
}{
	"amd64": {"GOAMD64", func(v string) string { return v }, []string{"v1", "v2", "v3", "v4"}},
	"arm":   {"GOARM", func(v string) string { return v[1:] }, []string{"v7", "v6", "v5"}},
	"arm64": {"GOARM64", func(v string) string { return v + ".0" }, []string{"v8", "v9"}},
}

var platformForm = regexp.MustCompile(`^([a-z0-9]+)/([a-z0-9]+)(?:/(v[0-9]))?$`)

// ParsePlatform reads a platform such as "linux/arm64" or "linux/arm/v6". Two
// ways to write the same platform give the same result. [Build] fails if Go
// cannot build for it.
func ParsePlatform(text string) (Platform, error) {
	m := platformForm.FindStringSubmatch(text)
	if m == nil {
		return Platform{}, fmt.Errorf("invalid platform %q: want a system and a processor, such as linux/arm64 or linux/arm/v6", text)
	}
	p := Platform{m[1], m[2], m[3]}
	known, ok := variants[p.Arch]
	if p.Variant != "" && !slices.Contains(known.names, p.Variant) {
		return Platform{}, fmt.Errorf("%s: Go knows no variant %s of %s", text, p.Variant, p.Arch)
	}
	if !ok {
		return p, nil
	}
	// Images leave the default out, except arm's.
	if p.Variant == known.names[0] {
		p.Variant = ""
	}
	if p.Arch == "arm" {
		p.Variant = cmp.Or(p.Variant, known.names[0])
	}
	return p, nil
}

// env returns the variables by which go builds for the platform, whatever the
// user's variables say.
func (p Platform) env() []string {
	env := []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch}
	if known, ok := variants[p.Arch]; ok {
		env = append(env, known.variable+"="+known.value(cmp.Or(p.Variant, known.names[0])))
	}
	return env
}

// platformEnv returns the variables by which go builds for Options.Platform, or
// none if that is "".
func platformEnv(ctx context.Context, platform string) ([]string, error) {
	if platform == "" {
		return nil, nil
	}
	p, err := ParsePlatform(platform)
	if err != nil {
		return nil, err
	}
	out, err := gotool.Command{Args: []string{"tool", "dist", "list"}}.Output(ctx)
	if err != nil {
		return nil, err
	}
	list := strings.Fields(string(out))
	if !slices.Contains(list, p.OS+"/"+p.Arch) {
		list = slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, p.OS+"/") })
		if len(list) == 0 {
			return nil, fmt.Errorf("unknown system %q: `go tool dist list` lists the systems", p.OS)
		}
		return nil, fmt.Errorf("%s: Go does not build for it; it builds for %s", p, strings.Join(list, ", "))
	}
	return p.env(), nil
}

// DefaultImagePlatform returns the default platform of an image: Linux, on the
// processor that Go builds for here.
func DefaultImagePlatform(ctx context.Context) (Platform, error) {
	env, err := gotool.Env(ctx, nil, "GOARCH")
	if err != nil {
		return Platform{}, err
	}
	return ParsePlatform("linux/" + env["GOARCH"])
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

const checkedVersion = "v0.0.1-check"

// A release is a copy of the repository in which make release ran. With env, the
// go command gets our modules from the copy, as RELEASING.md says.
type release struct {
	temp, copy string
	env        []string
}

// prepared is the release that all tests share, because it takes a minute to
// make.
var prepared *release

func TestMain(m *testing.M) {
	code := m.Run()
	if prepared != nil {
		if err := os.RemoveAll(prepared.temp); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func (r *release) run(ctx context.Context, dir, name string, args ...string) (string, error) {
	return measure.Run(ctx, io.Discard, filepath.Join(r.temp, dir), r.env, name, args...)
}

func checkedRelease(t *testing.T) *release {
	t.Helper()
	if prepared != nil {
		return prepared
	}
	user := strings.Fields(mustRun(t, "go", "env", "GOMODCACHE", "GOPROXY"))
	temp, err := os.MkdirTemp("", "regometer-release-")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{temp: temp, copy: filepath.Join(temp, "copy")}
	prepared = r
	// A separate index has the files that are not committed yet, too.
	r.env = []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	checkout, err := filepath.Abs(root)
	_, addErr := r.run(t.Context(), "", "git", "-C", checkout, "add", "--all", ".")
	_, copyErr := r.run(t.Context(), "", "git", "-C", checkout, "checkout-index", "--all", "--prefix="+r.copy+"/")
	r.env = []string{"GIT_AUTHOR_NAME=check", "GIT_AUTHOR_EMAIL=check", "GIT_COMMITTER_NAME=check", "GIT_COMMITTER_EMAIL=check"}
	_, initErr := r.run(t.Context(), "copy", "git", "init", "-q")
	_, stageErr := r.run(t.Context(), "copy", "git", "add", "--all", ".")
	_, commitErr := r.run(t.Context(), "copy", "git", "commit", "-q", "-m", "check")
	_, makeErr := r.run(t.Context(), "copy", "make", "release", "VERSION="+checkedVersion)
	if err := errors.Join(err, addErr, copyErr, initErr, stageErr, commitErr, makeErr); err != nil {
		t.Fatal(err)
	}
	// With the settings of make dist, each package is compiled once.
	r.env = append(r.env, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-trimpath -modcacherw", "GOMODCACHE="+filepath.Join(temp, "modules"),
		"GOPROXY=file://"+filepath.Join(user[0], "cache", "download")+","+user[1], "GOPRIVATE="+own,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+r.copy+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+own)
	return r
}

// TestRelease rehearses a release. It lists what all modules need as published,
// which fails if go.sum lacks a checksum, and checks the programs of make dist for
// this platform. They know their versions, OPA evaluates a query, and OPA has the
// plugin: nothing else refuses an invalid configuration of the plugin.
func TestRelease(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("fetches the modules that ours require: make test-slow runs it")
	}
	r := checkedRelease(t)
	for _, module := range []string{".", "prom", "opa", "cmd/regometer", "bench"} {
		if text, err := os.ReadFile(filepath.Join(r.copy, module, "go.mod")); err != nil || strings.Contains(string(text), own+" => ") {
			t.Errorf("%s still replaces modules: %v", module, err)
		}
		if _, err := r.run(t.Context(), filepath.Join("copy", module), "go", "list", "-deps", "./..."); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.run(t.Context(), "copy", "make", "dist", "VERSION="+checkedVersion, "PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	program := func(name string) string {
		return filepath.Join(r.copy, "dist", checkedVersion, name+"_"+runtime.GOOS+"_"+runtime.GOARCH)
	}
	regometer, opa, config := program("regometer"), program("opa"), filepath.Join(r.temp, "config.yaml")
	if err := os.WriteFile(config, []byte("plugins: {regometer: {no_such_key: 1}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without the plugin, OPA serves
	defer cancel()
	for _, c := range []struct {
		want    string
		command []string
	}{
		{"regometer: " + checkedVersion + "\n", []string{regometer, "version"}},
		{"regometer: " + checkedVersion + "\n", []string{regometer, "version", opa}},
		{"plugin: gets decisions straight from OPA's server\n", []string{regometer, "version", opa}},
		{"2\n", []string{opa, "eval", "--format", "raw", "1 + 1"}},
		{`unknown key "no_such_key"`, []string{opa, "run", "--server", "--addr", "127.0.0.1:0", "--config-file", config}},
	} {
		if out, err := r.run(ctx, "", c.command[0], c.command[1:]...); !strings.Contains(fmt.Sprint(out, err), c.want) {
			t.Errorf("%s does not print %q, but\n%s%v", strings.Join(c.command, " "), c.want, out, err)
		}
	}
}

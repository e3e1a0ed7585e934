// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Consumers runs the tests of published programs and libraries that have OPA
// inside, with and without the drop-in: those that the module proxy has, and
// what is in the folders that are its arguments. It runs in the repository's
// root.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// published are modules that can be had as such with their tests. Others, such
// as opa-envoy-plugin, leave out of their modules what their tests read.
var published = []string{
	"github.com/open-policy-agent/conftest@v0.71.1",
	"github.com/open-policy-agent/frameworks/constraint@latest",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := verifyAll(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "consumers:", err)
		os.Exit(1)
	}
}

func verifyAll(ctx context.Context, folders []string) (err error) {
	temp, err := os.MkdirTemp("", "consumers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	command := filepath.Join(temp, "regometer")
	if err := run(ctx, "go", "build", "-o", command, "./cmd/regometer"); err != nil {
		return err
	}
	var failed []string
	verify := func(name, dir string) {
		fmt.Printf("\n## %s\n\n", name)
		if err := run(ctx, command, "verify", "-C", dir); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", name, err))
		}
	}
	for _, module := range published {
		name, dir, err := fetch(ctx, module, temp)
		if err != nil {
			return err
		}
		verify(name, dir)
	}
	for _, dir := range folders {
		verify(dir, dir)
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "\n"))
	}
	return nil
}

// fetch copies a module from the proxy to a folder in temp, where its tests may
// write.
func fetch(ctx context.Context, module, temp string) (name, dir string, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = temp // away from any go.mod
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("getting %s: %w\n%s", module, err, out)
	}
	var m struct{ Path, Version, Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", "", fmt.Errorf("getting %s: %w", module, err)
	}
	dir = filepath.Join(temp, filepath.Base(m.Path))
	if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
		return "", "", err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o200)
	})
	return m.Path + " " + m.Version, dir, err
}

// run runs a program, whose output is this one's.
func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package project knows how this repository is put together: its modules, the
// rules that they keep (tests of this package), and how they are released.
package project

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// A Module is one of the modules that go.work lists.
type Module struct {
	Path string        // such as github.com/regometer/regometer/opa
	Dir  string        // below the repository's root, "." for the root module
	File *modfile.File // its go.mod
}

// Modules returns the modules of the repository at root, each after those of
// them that it requires.
func Modules(root string) ([]Module, error) {
	path := filepath.Join(root, "go.work")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(path, text, nil)
	if err != nil {
		return nil, err
	}
	var found []Module
	for _, use := range work.Use {
		path := filepath.Join(root, use.Path, "go.mod")
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(path, text, nil)
		if err != nil {
			return nil, err
		}
		found = append(found, Module{file.Module.Mod.Path, filepath.Clean(use.Path), file})
	}
	return inOrder(found)
}

func inOrder(modules []Module) ([]Module, error) {
	byPath := map[string]Module{}
	for _, m := range modules {
		byPath[m.Path] = m
	}
	var sorted []Module
	state := map[string]int{} // 1: its requirements are being added, 2: added
	var add func(Module) error
	add = func(m Module) error {
		switch state[m.Path] {
		case 1:
			return fmt.Errorf("module %s requires itself through others", m.Path)
		case 2:
			return nil
		}
		state[m.Path] = 1
		for _, r := range m.File.Require {
			if needed, ok := byPath[r.Mod.Path]; ok {
				if err := add(needed); err != nil {
					return err
				}
			}
		}
		state[m.Path] = 2
		sorted = append(sorted, m)
		return nil
	}
	for _, m := range modules {
		if err := add(m); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// files returns the paths below root of all files that git tracks or would
// track.
func files(ctx context.Context, root string) ([]string, error) {
	out, err := run(ctx, root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("listing the repository's files: %w", err)
	}
	var found []string
	for _, path := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, but not yet in git's index
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	return found, nil
}

// run runs a program in dir with these variables added to the environment, and
// returns what it printed. Its complaints are part of the error.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	return runShowing(ctx, io.Discard, dir, env, name, args...)
}

// runShowing is run, and shows the program's complaints at once.
func runShowing(ctx context.Context, progress io.Writer, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, io.MultiWriter(&stderr, progress)
	cmd.Env = append(os.Environ(), env...)
	// So that it can stop what it has started itself, and tidy up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s (in %s): %w\n%s%s", name, strings.Join(args, " "), dir, err, &stderr, &stdout)
	}
	return stdout.String(), nil
}

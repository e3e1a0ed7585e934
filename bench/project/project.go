// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package project knows the modules of this repository and how they are
// released. Its tests check the rules that the repository keeps.
package project

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
)

// A Module is one of the modules that go.work lists.
type Module struct {
	Path string        // such as github.com/regometer/regometer/opa
	Dir  string        // below the repository's root, "." for the root module
	File *modfile.File // its go.mod
}

// Modules returns the modules of the repository at root. Each one comes after
// those that it requires.
func Modules(root string) (ordered []Module, err error) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	var all []Module
	byPath := map[string]Module{}
	for _, use := range work.Use {
		m, err := readModule(root, use.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
		byPath[m.Path] = m
	}
	var add func(m Module)
	add = func(m Module) {
		if _, waits := byPath[m.Path]; !waits {
			return
		}
		delete(byPath, m.Path)
		for _, r := range m.File.Require {
			add(byPath[r.Mod.Path])
		}
		ordered = append(ordered, m)
	}
	for _, m := range all {
		add(m)
	}
	return ordered, nil
}

func readModule(root, dir string) (Module, error) {
	path := filepath.Join(root, dir, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return Module{}, err
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		return Module{}, err
	}
	return Module{file.Module.Mod.Path, filepath.ToSlash(filepath.Clean(dir)), file}, nil
}

// Run runs a program in the folder dir and returns its standard output. It adds
// env to the environment, and copies standard error to progress at once. If the
// program fails, the error has all of its output.
func Run(ctx context.Context, progress io.Writer, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, io.MultiWriter(&stderr, progress)
	cmd.Env = append(os.Environ(), env...)
	// An interrupted program can stop its own children and tidy up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s (in %s): %w\n%s%s", cmd, dir, err, &stderr, &stdout)
	}
	return stdout.String(), nil
}

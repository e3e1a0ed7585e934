// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// allPackages is those of all modules that go.work lists.
const allPackages = "github.com/regometer/regometer/..."

// A target is a fuzz test.
type target struct {
	pkg  string // its import path
	dir  string // its package's folder
	name string // such as FuzzAdd
}

// String returns the short form that the tables have and -run matches.
func (t target) String() string {
	return strings.TrimPrefix(t.pkg, strings.TrimSuffix(allPackages, "...")) + " " + t.name
}

// corpus returns the folder of the inputs that `go test` replays.
func (t target) corpus() string { return filepath.Join(t.dir, "testdata", "fuzz", t.name) }

// listTargets returns the fuzz targets of all modules of the repository at
// root. It reads the sources: `go test -list` would compile every test.
func listTargets(ctx context.Context, root string) ([]target, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles", allPackages)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	var targets []target
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
					targets = append(targets, target{p.ImportPath, p.Dir, f.Name.Name})
				}
			}
		}
	}
}

// binaries are compiled tests, each made once.
type binaries struct {
	dir    string
	stderr io.Writer
	path   map[string]string // by folder and flags
}

// of returns the path of the tests of the package in a folder, compiled with
// these flags.
func (b *binaries) of(ctx context.Context, dir string, flags ...string) (string, error) {
	key := dir + " " + strings.Join(flags, " ")
	if path := b.path[key]; path != "" {
		return path, nil
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%d.test", len(b.path)))
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-c", "-o", path}, flags...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, b.stderr, b.stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s (in %s): %w", strings.Join(cmd.Args, " "), dir, err)
	}
	b.path[key] = path
	return path, nil
}

// cacheOf returns the folder in which Go keeps the inputs of a package that
// reached something new, in a folder for each target.
func cacheOf(ctx context.Context, pkg string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOCACHE: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "fuzz", filepath.FromSlash(pkg)), nil
}

// filesIn returns the contents of a folder's files by name, none if there is no
// such folder.
func filesIn(dir string) (map[string][]byte, error) {
	found := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if found[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return found, nil
}

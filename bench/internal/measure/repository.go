// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure finds the repository and runs programs, for the commands that
// measure and release.
package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// The paths of modules.
const (
	RootModule = "github.com/regometer/regometer"
	OPAModule  = "github.com/open-policy-agent/opa"
)

// A Repository says where the modules are.
type Repository struct {
	Root, Bench, OPA string // folders
	OPAVersion       string
}

// FindRepository asks the go command where the modules are. It fails outside
// the repository, or if the source of OPA is not downloaded.
func FindRepository(ctx context.Context) (Repository, error) {
	var r Repository
	out, err := Command(ctx, "", "go", "list", "-m", "-json", RootModule, RootModule+"/bench", OPAModule)
	if err != nil {
		return r, fmt.Errorf("%w\nrun this in the repository's folder bench", err)
	}
	modules := json.NewDecoder(bytes.NewReader(out))
	for _, dir := range []*string{&r.Root, &r.Bench, &r.OPA} {
		var m struct{ Path, Dir, Version string }
		if err := modules.Decode(&m); err != nil {
			return r, err
		}
		if m.Dir == "" {
			return r, fmt.Errorf("the source of %s is not here: run go mod download in the repository's folder bench", m.Path)
		}
		*dir, r.OPAVersion = m.Dir, m.Version
	}
	return r, nil
}

// Modfile writes a go.mod for the module bench into dir, with its go.sum, and
// returns its path. There OPA is the source tree in the folder tree.
func (r Repository) Modfile(ctx context.Context, dir, tree string) (string, error) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(r.Bench, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	modfile := filepath.Join(dir, "go.mod")
	args := []string{"mod", "edit", "-replace=" + OPAModule + "=" + tree, "-replace=" + RootModule + "=" + r.Root}
	for _, module := range []string{"opa", "prom"} {
		args = append(args, "-replace="+RootModule+"/"+module+"="+filepath.Join(r.Root, module))
	}
	_, err := Command(ctx, r.Bench, "go", append(args, modfile)...)
	return modfile, err
}

// Command runs a program in a folder and returns what it prints. With a folder,
// the program ignores the workspace and the go command's flags in the
// environment.
func Command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	return CommandWith(ctx, nil, dir, name, args...)
}

// CommandWith is Command with an addition to the environment.
func CommandWith(ctx context.Context, env []string, dir, name string, args ...string) ([]byte, error) {
	if dir != "" { // builds are the same in every folder and workspace
		env = append([]string{"GOWORK=off", "GOFLAGS="}, env...)
	}
	out, err := Run(ctx, io.Discard, dir, env, name, args...)
	return []byte(out), err
}

// Run runs a program in the folder dir and returns its standard output. It adds
// env to the environment, and copies standard error to progress at once. If the
// program fails, the error has all its output.
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

// Main runs a program until it ends or an interrupt stops it. If the program
// fails, Main ends the process with status 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Progress writes lines with the time since Start.
type Progress struct {
	W     io.Writer
	Start time.Time
}

// Printf writes a line.
func (p Progress) Printf(format string, args ...any) {
	fmt.Fprintf(p.W, "%6s  %s\n", time.Since(p.Start).Round(time.Second), fmt.Sprintf(format, args...))
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure finds the repository and runs commands, for the commands that
// measure.
package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// FindRepository asks the go command, which must run in the repository.
func FindRepository(ctx context.Context) (Repository, error) {
	var r Repository
	for path, dir := range map[string]*string{RootModule: &r.Root, RootModule + "/bench": &r.Bench, OPAModule: &r.OPA} {
		out, err := Command(ctx, "", "go", "list", "-m", "-json", path)
		if err != nil {
			return r, fmt.Errorf("%w\nrun this in the repository's folder bench", err)
		}
		var m struct{ Dir, Version string }
		if err := json.Unmarshal(out, &m); err != nil {
			return r, err
		}
		if *dir = m.Dir; m.Dir == "" {
			return r, fmt.Errorf("the source of %s is not here: run go mod download in the repository's folder bench", path)
		}
		if path == OPAModule {
			r.OPAVersion = m.Version
		}
	}
	return r, nil
}

// Modfile writes a go.mod for the module bench into dir, with its go.sum, in
// which OPA is the source tree in the folder tree.
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

// Command runs a program in a folder and returns what it prints. Its error has
// the end of the output. With a folder, the program ignores the workspace and
// the go command's flags in the environment.
func Command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	return CommandWith(ctx, nil, dir, name, args...)
}

// CommandWith is Command with an addition to the environment.
func CommandWith(ctx context.Context, env []string, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if dir != "" { // builds are the same in every folder and workspace
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	}
	if env != nil {
		cmd.Env = append(cmd.Environ(), env...)
	}
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, tail(stdout.Bytes()), tail(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// tail returns the end of a long output, for an error message.
func tail(output []byte) []byte {
	const enough = 4 << 10
	return output[max(0, len(output)-enough):]
}

// Progress writes lines with the time passed.
type Progress struct {
	W     io.Writer
	Start time.Time
}

// Printf writes a line.
func (p Progress) Printf(format string, args ...any) {
	fmt.Fprintf(p.W, "%6s  %s\n", time.Since(p.Start).Round(time.Second), fmt.Sprintf(format, args...))
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"path/filepath"

	"github.com/regometer/regometer/internal/opaserver"
)

// server is a running OPA server that logs its decisions to a file.
type server struct{ *opaserver.Server }

// startServer starts the OPA binary as a server for the policy in a folder. The
// settings are added to its configuration.
func startServer(ctx context.Context, side, binary, policy, logFile string, settings ...string) (*server, error) {
	binary, err := filepath.Abs(binary) // the process runs in another folder
	if err != nil {
		return nil, err
	}
	command := []string{
		binary, "run", "--server",
		filepath.Base(policy), // not the whole path: OPA gives a colon a meaning
		"--log-format", "json",
		"--pprof", // its heap profile is the way to ask for a garbage collection
	}
	for _, setting := range append([]string{"decision_logs.console=true"}, settings...) {
		command = append(command, "--set", setting)
	}
	s, err := opaserver.Start(ctx, opaserver.Options{
		Name: side, Command: command, Dir: filepath.Dir(policy), Log: logFile,
	})
	if err != nil {
		return nil, err
	}
	return &server{s}, nil
}

// stop ends the server, however it takes that: what it had to tell has been
// measured.
func (s *server) stop() { _ = s.Stop() }

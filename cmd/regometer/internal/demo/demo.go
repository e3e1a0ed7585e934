// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package demo runs an OPA server with Regometer beside an unmodified one, and
// shows where the time of the decisions went and the costs of a decision.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/opa/v1/config"

	"github.com/regometer/regometer"
	"github.com/regometer/regometer/cmd/regometer/internal/opaserver"
	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/replay"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
)

// Config says what to run. Keep and Table are optional.
type Config struct {
	// Build returns the path of an OPA binary and may write its progress.
	Build func(ctx context.Context, unmodified bool, progress io.Writer) (string, error)

	Duration time.Duration // approximate time that each server is under load
	Keep     string        // folder for the policy and the servers' logs

	Table  output.Options // of the log's report, without Top
	Stdout io.Writer      // the result
	Stderr io.Writer      // progress
}

var logFiles = [...]string{"drop-in.jsonl", "unmodified.jsonl"}

// Run runs the demo. It fails if a server fails, or if ctx ends. It stops all
// servers before it returns.
func Run(ctx context.Context, c Config) (err error) {
	if c.Duration <= 0 {
		return fmt.Errorf("the duration must be greater than 0, not %v", c.Duration)
	}
	dir := c.Keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "regometer-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a new or empty folder for the output", dir)
	}
	r, err := c.measure(ctx, dir)
	if err != nil {
		return err
	}
	_, err = c.Stdout.Write(r.text(c.Table))
	return err
}

// measure builds, starts and loads the servers, and reads log and metrics.
func (c *Config) measure(ctx context.Context, dir string) (*result, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen on 127.0.0.1: %w", err)
	}
	directory := &http.Server{Handler: http.HandlerFunc(isOnCall), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = directory.Serve(listener) }() // until it is closed
	defer directory.Close()
	if err := writePolicy(filepath.Join(dir, policyFolder), "http://"+listener.Addr().String()); err != nil {
		return nil, err
	}
	var servers []*opaserver.Server
	for i, name := range serverNames {
		fmt.Fprintf(c.Stderr, "Building the %s (takes minutes the first time, then seconds)\n", name)
		binary, err := c.Build(ctx, i == unmodified, c.Stderr)
		if err != nil {
			return nil, err
		}
		s, err := startServer(ctx, i, binary, dir)
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.Stop() }() // its log and metrics have been read
		servers = append(servers, s)
	}

	fmt.Fprintf(c.Stderr, "Sending queries to 127.0.0.1, about %v to each server\n", c.Duration)
	l, r := load{servers: servers, workload: newWorkload()}, &result{opa: servers[0].Version}
	if r.costs, err = l.run(ctx, c.Duration); err != nil {
		return nil, err
	}
	r.requests = l.requests
	if r.metrics, err = servers[0].Get(ctx, "/metrics"); err != nil {
		return nil, err
	}
	log, err := report.Read(ctx, report.Options{Inputs: []string{filepath.Join(dir, logFiles[0])}})
	if err != nil {
		return nil, fmt.Errorf("cannot read the decision log: %w", err)
	}
	r.log = log.Report()
	if r.replay, err = c.replay(ctx, dir); err != nil {
		return nil, fmt.Errorf("cannot replay the decision log: %w", err)
	}
	return r, ctx.Err() // an interrupted report may lack decisions
}

// replay evaluates the decisions of the log again.
func (*Config) replay(ctx context.Context, dir string) (*replay.Report, error) {
	policy, err := replay.Load(ctx, []string{filepath.Join(dir, policyFolder)}, config.Config{}, false)
	if err != nil {
		return nil, err
	}
	return replay.Run(ctx, replay.Options{Read: report.Options{Inputs: []string{filepath.Join(dir, logFiles[0])}}, Policy: policy, Timeout: time.Second})
}

// isOnCall is the service that the example policy asks who is on call.
func isOnCall(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"on_call": %t}`, r.URL.Query().Get("user") == onCallUser)
}

const policyFolder = "policy"

// writePolicy writes the example policy into a new folder, with the URL of
// isOnCall among its data.
func writePolicy(folder, url string) error {
	policy, err := fs.Sub(regometer.Files, "examples/policy")
	if err != nil {
		return err
	}
	data := fmt.Appendf(nil, `{"directory": {"url": %q}}`, url)
	return errors.Join(os.CopyFS(folder, policy), os.WriteFile(filepath.Join(folder, "directory.json"), data, 0o666))
}

// startServer starts an OPA binary as a server that logs to a file in dir.
func startServer(ctx context.Context, number int, binary, dir string) (*opaserver.Server, error) {
	binary, err := filepath.Abs(binary) // the process runs in another folder
	if err != nil {
		return nil, err
	}
	command := []string{
		binary, "run", "--server", policyFolder, "--ignore", "*_test.rego", "--log-format", "json",
		"--set", "decision_logs.console=true",
	}
	if number != unmodified {
		command = append(command, "--set", "plugins.regometer.namespace=opa")
	}
	return opaserver.Start(ctx, opaserver.Options{
		Name: serverNames[number], Command: command, Dir: dir, Log: filepath.Join(dir, logFiles[number]),
	})
}

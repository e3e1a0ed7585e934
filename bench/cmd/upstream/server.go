// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/outfile"
	"github.com/regometer/regometer/opa/opabuild"
)

// serverSeries is the server with the whole series; the others are named as in
// the benchmarks.
const serverSeries = "series"

// serverSetups are the servers, in the order of the table.
var serverSetups = []struct {
	impl, title string
	options     opabuild.Options
}{
	{unmodified, "unmodified OPA", opabuild.Options{Unmodified: true}},
	{serverSeries, "with the series", opabuild.Options{Upstream: opabuild.AllSteps}},
	{dropIn, "with the drop-in", opabuild.Options{NoPlugin: true}},
}

// server measures OPA servers under load.
func (p *prover) server(ctx context.Context) error {
	var servers []measure.Server
	for _, s := range serverSetups {
		p.progress.Printf("server: building OPA %s, %s, unless it is cached", opabuild.UpstreamVersion, s.title)
		s.options.OPA, s.options.Progress = opabuild.UpstreamVersion, p.progress.W
		binary, err := opabuild.Build(ctx, s.options)
		if err != nil {
			return err
		}
		servers = append(servers, measure.Server{Impl: s.impl, Binary: binary})
	}
	lines, err := measure.Servers(ctx, p.work, servers, p.runs, p.requests, p.progress)
	if err != nil {
		return err
	}
	evals, err := p.evals(ctx, servers)
	if err != nil {
		return err
	}
	lines = append(lines, evals...)
	if err := os.MkdirAll(filepath.Join(p.out, "upstream"), 0o755); err != nil {
		return err
	}
	header := measure.Header(opabuild.UpstreamVersion, fmt.Sprintf("upstream -parts server -runs %d -requests %d", p.runs, p.requests), nil)
	return outfile.Write(filepath.Join(p.out, "upstream", serverFile), append(header, lines...))
}

// evalModes are the ways of calling opa eval, by name.
var evalModes = []struct {
	name string
	args []string
}{
	{"eval", []string{"eval", "--format=raw"}},
	{"eval --instrument --count=100", []string{"eval", "--format=raw", "--instrument", "--count=100"}},
}

// evals runs opa eval of the servers' policy, in turns, and returns lines in
// the format of go test -bench.
func (p *prover) evals(ctx context.Context, opas []measure.Server) (lines []byte, err error) {
	policy := []string{"--data=" + filepath.Join(p.work, "rbac.rego"), "--data=" + filepath.Join(p.work, "data.json"), "data.rbac.allow"}
	for i := range p.runs {
		p.progress.Printf("opa eval: run %d of %d", i+1, p.runs)
		for _, mode := range evalModes {
			for j := range opas {
				opa := opas[(i+j)%len(opas)]
				start := time.Now()
				for range evalsInRun {
					if _, err := measure.Command(ctx, "", opa.Binary, slices.Concat(mode.args, policy)...); err != nil {
						return nil, err
					}
				}
				lines = fmt.Appendf(lines, "BenchmarkEval/case=%s/impl=%s %d %d ns/op\n",
					strings.ReplaceAll(mode.name, " ", "_"), opa.Impl, evalsInRun, time.Since(start).Nanoseconds()/evalsInRun)
			}
		}
	}
	return lines, nil
}

// evalsInRun is how often opa eval is called in each run and mode.
const evalsInRun = 10

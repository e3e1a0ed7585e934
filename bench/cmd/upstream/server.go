// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/regometer/regometer/bench/internal/measure"
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
	if err := os.MkdirAll(filepath.Join(p.out, "upstream"), 0o755); err != nil {
		return err
	}
	header := measure.Header(opabuild.UpstreamVersion, fmt.Sprintf("upstream -parts server -runs %d -requests %d", p.runs, p.requests), nil)
	return measure.ReplaceFile(filepath.Join(p.out, "upstream", serverFile), append(header, lines...))
}

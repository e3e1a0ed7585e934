// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer"
	"github.com/regometer/regometer/cmd/regometer/internal/demo"
	"github.com/regometer/regometer/opa/opabuild"
)

func newDemoCommand() *cobra.Command {
	var (
		opa       string
		noCompare bool
		config    demo.Config
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show drop-in and plugin at work in an OPA server, beside an unmodified one",
		Long: `Builds OPA with the drop-in metrics package and the plugin, starts
that server on 127.0.0.1 with an example policy, and sends it varied queries for a
few seconds. Then prints
  - the decisions by outcome,
  - one decision's own metrics,
  - each stage's p50, p95, p99 (nearest rank) and maximum, from the decision log
    that this server wrote,
  - the same percentiles from its /metrics, where the plugin puts them into native
    histograms, and how far off they are: within the error of a histogram, or the
    demo fails,
  - time and allocated memory per decision beside an unmodified OPA's, from both
    servers' own runtime metrics,
  - the report of that decision log, as regometer report has it; its counts and
    sums are those of /metrics, or the demo fails.

The first run builds two OPA binaries, which takes a few minutes; they are kept
for the next time. The requests depend on the seed alone, their number also on
the duration and the machine. Everything stays on this machine, and nothing is
left behind but the binaries.`,
		Example: `  regometer demo
  regometer demo --no-compare --duration 2s
  regometer demo --json > demo.json
  regometer demo --keep demo-output --seed 7
  regometer demo --opa ../opa`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			policy, err := fs.Sub(regometer.ExamplePolicy, "examples/policy")
			if err != nil {
				return err
			}
			config.Policy = policy
			config.Compare = !noCompare
			config.Stdout, config.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			config.Table.Width, config.Table.Colors = terminal(config.Stdout)
			config.Build = func(ctx context.Context, unmodified bool, progress io.Writer) (string, error) {
				return opabuild.Build(ctx, opabuild.Options{OPA: opa, Unmodified: unmodified, Progress: progress})
			}
			return demo.Run(cmd.Context(), config)
		},
	}
	addOPAFlag(cmd, &opa)
	flags := cmd.Flags()
	flags.DurationVar(&config.Duration, "duration", 5*time.Second, "about how long, in all, to keep each server busy")
	flags.Uint64Var(&config.Seed, "seed", 1, "which sequence of requests to send")
	flags.BoolVar(&noCompare, "no-compare", false, "leave out the unmodified OPA")
	flags.BoolVar(&config.JSON, "json", false, "print the report as JSON")
	flags.StringVar(&config.Keep, "keep", "", "new or empty `folder` to keep the decision logs and the report in")
	return cmd
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/demo"
	"github.com/regometer/regometer/internal/app/opabuild"
)

func newDemoCommand() *cobra.Command {
	var (
		opa       string
		noCompare bool
		config    demo.Config
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run OPA with Regometer beside an unmodified OPA and show what their decisions cost",
		Long: `Builds OPA with Regometer and once as it is, starts both as servers on 127.0.0.1
with an example policy, and sends both the same queries for a few seconds. Then
prints
  - where the time of the decisions went, by the decision log that the server with
    Regometer wrote: the findings and the paths that took most time, as regometer
    report prints them of the log of any OPA,
  - the same as Prometheus sees it, by that server's /metrics; the demo fails if
    the two do not agree,
  - the time, bytes and allocations that a decision costs on either server.

The first run takes some minutes to build the two servers, which are kept for the
next time. The requests depend on --seed; their number also depends on --duration
and the machine. Nothing leaves this machine, and nothing is left behind except the
two servers' binaries and the folder of --keep.`,
		Example: `  regometer demo
  regometer demo --no-compare --duration 2s
  regometer demo --json > demo.json
  regometer demo --keep demo-output --seed 7
  regometer demo --opa ../opa`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
	flags.DurationVar(&config.Duration, "duration", 5*time.Second, "about how long to keep each server busy")
	flags.Uint64Var(&config.Seed, "seed", 1, "seed of the requests")
	flags.BoolVar(&noCompare, "no-compare", false, "run only the server with Regometer")
	flags.BoolVar(&config.JSON, "json", false, "print the result as JSON")
	flags.StringVar(&config.Keep, "keep", "", "new or empty `folder` to keep the policy, the decision logs and the result in")
	return cmd
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/demo"
	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

func newDemoCommand() *cobra.Command {
	var opa string
	var config demo.Config
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run OPA with Regometer beside an unmodified OPA and show the cost of decisions",
		Long: `Builds OPA with Regometer and an unmodified OPA, starts both as servers on 127.0.0.1
with an example policy, and sends both the same queries for a few seconds. Then it
prints where the time of the decisions went, as "regometer report" does, and which rules
took it, as "regometer replay" does. It also prints the time, bytes and allocations of a
decision on each server.

The first run takes some minutes to build the two servers, without WebAssembly and with
the settings of this program, and keeps them. The number of requests depends on
--duration and on the machine. No server contacts another machine. Only the two binaries
and the folder of --keep remain.`,
		Example: `  regometer demo
  regometer demo --keep demo-output --duration 2s
  regometer demo --opa ../opa`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Stdout, config.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			config.Table.Width, config.Table.Colors = terminal(config.Stdout)
			config.Build = func(ctx context.Context, unmodified bool, progress io.Writer) (string, error) {
				return opabuild.Build(ctx, opabuild.Options{OPA: opa, Unmodified: unmodified, Local: true, NoWasm: true, Progress: progress})
			}
			return demo.Run(cmd.Context(), config)
		},
	}
	addOPAFlag(cmd, &opa)
	flags := cmd.Flags()
	flags.DurationVar(&config.Duration, "duration", 5*time.Second, "approximate time that each server is under load")
	flags.StringVar(&config.Keep, "keep", "", "new or empty `folder` for the policy and the decision logs")
	return cmd
}

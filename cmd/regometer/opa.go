// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

func newOPACommand() *cobra.Command {
	o := opabuild.Options{Local: true}
	cmd := &cobra.Command{
		Use:   "opa [--opa VERSION|DIR] [--] ARGS...",
		Short: "Run opa with the drop-in and the plugin, and build it first if necessary",
		Long: `Runs opa with the drop-in and the plugin, and passes it the arguments after "--". If
this opa has not been built yet, the command builds it first, with progress on standard
error. It builds for this machine, with the settings with which Go built regometer, and
without information for debuggers. "regometer build" makes the same binary on any
machine. The process then becomes OPA, with OPA's exit status, signals and streams.`,
		Example: `  regometer opa -- run --server --addr 127.0.0.1:8181 policy.rego
  regometer opa -- run --server --config-file config.yaml
  regometer opa -- eval --metrics --format pretty '1 + 2'
  regometer opa --opa 1.4.0 -- version`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Progress = cmd.ErrOrStderr()
			path, err := opabuild.Build(cmd.Context(), o)
			if err != nil {
				return err
			}
			return become(cmd.Context(), path, append([]string{"opa"}, args...))
		},
	}
	addOPAFlag(cmd, &o.OPA)
	addPartFlags(cmd, &o, "run")
	cmd.MarkFlagsMutuallyExclusive("unmodified", "no-plugin", "pure")
	// OPA gets the first argument that is not a flag, and all that follow.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

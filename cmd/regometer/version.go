// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/opa/opabuild"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of regometer, of its drop-in and of OPA",
		Long: `Prints the version of this program, the Go it was built with, the OPA releases
that the drop-in is tested with, and the SHA-256 of the drop-in's source.`,
		Example: "  regometer version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hash, err := opabuild.DropInHash()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "regometer: %s\ngo: %s %s/%s\nopa: %s to %s (by default %s)\ndrop-in: sha256:%s\n",
				ownVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
				opabuild.OldestVersion, opabuild.NewestVersion, opabuild.DefaultVersion, hash)
			return err
		},
	}
}

// ownVersion returns the module's version that Go recorded, with the commit
// if this was built in a checkout.
func ownVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	return version
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version [BINARY]",
		Short: "Print the version of regometer, or what is in an opa binary",
		Long: `Prints the version of this program, the Go that built it, the OPA releases that the
drop-in is tested with, and the SHA-256 of the drop-in's source.

BINARY is an opa binary, or another program with OPA inside, for any platform. For it
the command prints the Go that built it, OPA's version, and the parts that "regometer
build" put into it, with the names of the fixes. The command does not run the binary.
OPA's version is unknown if neither "regometer build" nor Go recorded it. "unmodified"
means without the drop-in. "go version -m BINARY" shows all modules in it.`,
		Example: `  regometer version
  regometer version ./opa`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				b, err := opabuild.Inspect(args[0])
				if err != nil {
					return err
				}
				printBinary(cmd.OutOrStdout(), b)
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "regometer: %s\ngo: %s %s/%s\nopa: %s to %s\ndrop-in: sha256:%s\n",
				ownVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
				opabuild.OldestVersion, opabuild.NewestRange, opabuild.DropInHash())
			return nil
		},
	}
}

// printBinary prints the versions and the parts of Regometer in an opa binary.
func printBinary(w io.Writer, b *opabuild.Binary) {
	opa, dropIn, plugin := b.OPA, "sha256:"+b.DropIn, "none"
	if opa == "" {
		opa = "unknown version"
	}
	switch {
	case b.Upstream > 0:
		opa, dropIn = fmt.Sprintf("%s, with the series for OPA up to step %d", opa, b.Upstream), "none"
	case b.DropIn == "":
		opa, dropIn = opa+", unmodified", "none"
	case b.DropIn == opabuild.Unknown:
		dropIn = "unknown, not put in by regometer build"
	}
	switch {
	case b.Hook && b.Program != "":
		plugin = "gets the decisions of OPA's server straight from it, and others through the decision log"
	case b.Hook:
		plugin = "gets decisions straight from OPA's server"
	case b.Plugin:
		plugin = "gets decisions through the decision log"
	}
	for _, line := range [][2]string{
		{"program", b.Program}, {"regometer", b.Regometer}, {"go", b.Go + " " + b.Platform}, {"opa", opa},
		{"drop-in", dropIn}, {"fixes", b.Fixes}, {"plugin", plugin},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "%s: %s\n", line[0], line[1])
		}
	}
}

// ownVersion returns the version of the module that Go recorded. If the program
// was built in a checkout, the version names the commit.
func ownVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

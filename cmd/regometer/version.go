// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version [BINARY]",
		Short: "Print the versions of regometer, of its drop-in and of OPA, or what is in an opa binary",
		Long: `Prints the version of this program, the Go it was built with, the OPA releases
that the drop-in is tested with, and the SHA-256 of the drop-in's source.

Of an opa binary, or that of another program with OPA inside, for whatever platform,
it prints OPA's version and what replaces it, the Go it was built with, and what of Regometer is in it: the version that built it, the SHA-256
of the drop-in's source, whether the plugin is there, and whether it gets decisions
straight from OPA's server; or up to which step the series for OPA is. The binary
is read, not run. OPA's version is unknown if neither "regometer build" nor Go
recorded it. One without the drop-in is called unmodified; what else may have been
changed in it cannot be told.`,
		Example: `  regometer version
  regometer version ./opa`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := new(outputs).check(cmd, args); err != nil {
					return err
				}
				return printBinary(cmd.OutOrStdout(), args[0])
			}
			hash, err := opabuild.DropInHash()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "regometer: %s\ngo: %s %s/%s\nopa: %s to %s\ndrop-in: sha256:%s\n",
				ownVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
				opabuild.OldestVersion, opabuild.NewestRange, hash)
			return err
		},
	}
}

// printBinary prints what is in an opa binary.
func printBinary(w io.Writer, file string) error {
	b, err := opabuild.Inspect(file)
	if err != nil {
		return err
	}
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
		dropIn = "one that was not put in by regometer build"
	}
	if b.Plugin {
		plugin = "gets decisions by way of the decision log"
		if b.Hook {
			plugin = "gets decisions straight from OPA's server"
		}
	}
	if b.Replaced != "" {
		opa += ", replaced by " + b.Replaced
	}
	if b.Program != "" {
		if _, err := fmt.Fprintf(w, "program: %s\n", b.Program); err != nil {
			return err
		}
	}
	if b.Regometer != "" {
		if _, err := fmt.Fprintf(w, "regometer: %s\n", b.Regometer); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "go: %s %s\nopa: %s\ndrop-in: %s\nplugin: %s\n", b.Go, b.Platform, opa, dropIn, plugin)
	return err
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

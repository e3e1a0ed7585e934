// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

const opaFlagUsage = "OPA's `version`, or the folder of its source (default \"" + opabuild.NewestVersion + "\")"

func newBuildCommand() *cobra.Command {
	var o opabuild.Options
	var dir string
	var image imageFlags
	var output *output
	cmd := &cobra.Command{
		Use:   "build [-C DIR] [PACKAGE] [-- GO BUILD FLAGS]",
		Short: "Build opa, or a program with OPA inside, with the drop-in and the plugin",
		Long: `Builds an opa binary, any other program with OPA inside, or a container image of
either, with Regometer in it, and prints where it is. In the binary are the drop-in in
the place of OPA's package v1/metrics, the plugin, and a hook in OPA's package
v1/runtime by which the plugin gets each decision straight from the server, without a
decision log; "regometer version FILE" reads that from the binary.

The plugin does nothing until OPA's configuration names it:

  plugins:
    regometer: {}

From then on /metrics has the durations of each stage and the outcomes of all
decisions by path. If an OPA's runtime is not as the hook expects it, a warning says
so and the binary is built without the hook; decision_logs.plugin has to be
"regometer" then, too. GOOS and GOARCH, or --platform, build for another system.

` + outputHelp + `
An image in a folder never replaces a folder with anything else in it.

OPA

Its source comes from the Go module proxy or from a folder, which is only read. Links
to files there are read too; one to a folder outside of it is refused. The binary is
built as OPA's own Makefile does, without C, and kept: it is built anew when OPA, the
drop-in, the plugin, this program or Go changes. The first build takes a few minutes.
No dependency of OPA moves to another version.

The drop-in is tested with OPA ` + opabuild.OldestVersion + ` to ` + opabuild.NewestRange + `. Older releases are refused, newer ones
are tried with a warning. If an OPA needs something of its metrics package that the
drop-in lacks, the build fails with the compiler's error.

--upstream builds OPA, by default ` + opabuild.UpstreamVersion + `, with the series of small changes to its
package v1/metrics that is proposed to its maintainers, in the place of the drop-in
and the plugin; --upstream=N with its first N steps. An OPA that is not as a step
expects it is refused.

PROGRAMS

` + buildProgramHelp + `

IMAGES

` + buildImageHelp,
		Example: `  regometer build -o opa
  regometer build --opa 1.4.0 -o opa-1.4.0
  regometer build --opa ../opa --platform linux/arm64 -o opa
  regometer build --no-plugin -o opa-with-drop-in-only
  regometer build --unmodified -o opa-as-it-is
  regometer build --upstream=3 -o opa-three-steps
  regometer build ./cmd/server
  regometer build -C ../opa-envoy-plugin ./cmd/opa-envoy-plugin -o opa-envoy
  regometer build . -- -tags netgo -ldflags "-s -w"
  regometer build --image opa.tar
  regometer build --image opa.tar --platform linux/amd64,linux/arm64
  regometer build --image opa.tar --base registry.example.com/base:1 --image-name opa:mine
  regometer build ./cmd/server --image server.tar`,
		Args:    programArgs(&dir, 1, "opa", "upstream", "unmodified"),
		PreRunE: func(*cobra.Command, []string) error { return image.check(&o, output.name) },
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Progress = cmd.ErrOrStderr()
			names, flags, isProgram := programOf(cmd, dir, args)
			o.Dir, o.Package, o.Flags = dir, strings.Join(names, ""), flags
			switch {
			case image.output.name != "" && isProgram:
				return image.writeProgram(cmd, o, output)
			case image.output.name != "":
				return image.writeOPA(cmd, o, output)
			case isProgram:
				return buildProgram(cmd, o, output)
			}
			return buildOPA(cmd, o, output)
		},
	}
	addOPAFlag(cmd, &o.OPA)
	files := newOutputs(cmd)
	output = files.flag(cmd, "output", "o", executableKind, "`file` to write, or a link to one; without it opa stays in the cache, and a program goes where go build puts it")
	addChdirFlag(cmd, &dir)
	addGoFlagHint(cmd, "go build")
	addPartFlags(cmd, &o, "build")
	addUpstreamFlag(cmd, &o.Upstream)
	image.add(cmd, files)
	cmd.MarkFlagsMutuallyExclusive("upstream", "unmodified")
	cmd.MarkFlagsMutuallyExclusive("upstream", "no-plugin")
	return cmd
}

// buildOPA builds opa, and prints where it is.
func buildOPA(cmd *cobra.Command, o opabuild.Options, to *output) error {
	if err := to.outputs.check(cmd, []string{o.OPA}); err != nil {
		return err
	}
	file, err := opabuild.Build(cmd.Context(), o)
	if err != nil {
		return err
	}
	if err := to.copy(file); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), cmp.Or(to.name, file))
	return err
}

// buildProgram builds a program with OPA inside, and prints where it is: where
// go build puts it, if nothing else is said.
func buildProgram(cmd *cobra.Command, o opabuild.Options, to *output) error {
	p, err := opabuild.OpenProgram(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer p.Close()
	to.name = cmp.Or(to.name, p.Name)
	if err := to.outputs.check(cmd, p.Folders); err != nil {
		return err
	}
	file, err := p.Build(cmd.Context())
	if err != nil {
		return err
	}
	if err := to.copy(file); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), to.name)
	return err
}

// addOPAFlag adds the flag that says which OPA is meant.
func addOPAFlag(cmd *cobra.Command, opa *string) {
	cmd.Flags().StringVar(opa, "opa", "", opaFlagUsage)
}

// addPartFlags adds the flags that say what of ours is left out.
func addPartFlags(cmd *cobra.Command, o *opabuild.Options, verb string) {
	cmd.Flags().BoolVar(&o.NoPlugin, "no-plugin", false, "leave the plugin out")
	cmd.Flags().BoolVar(&o.Unmodified, "unmodified", false, verb+" OPA as it is, for comparisons")
}

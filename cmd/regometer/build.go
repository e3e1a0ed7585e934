// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

func newBuildCommand() *cobra.Command {
	var o opabuild.Options
	var output *outputFile
	var source string
	cmd := &cobra.Command{
		Use:   "build [-C DIR] [PACKAGE] [-- GO BUILD FLAGS]",
		Short: "Build opa, or a program with OPA inside, with the drop-in and the plugin",
		Long: `Builds an opa binary, or another program with OPA inside, and prints where the result
is. The binary has Regometer's drop-in instead of OPA's package v1/metrics, fixes to OPA
that are proposed to its maintainers, Regometer's plugin, and a hook, through which the
plugin gets each decision straight from the server. "regometer version FILE" shows what
is in a binary. The command leaves out what does not fit this OPA release, and says so.
--pure puts in only the drop-in. --no-plugin leaves out the plugin and the hook.

The plugin does nothing until OPA's configuration names it: "plugins: {regometer: {}}".
Then /metrics shows the durations of each stage and the outcomes of all decisions by
path. Without the hook, OPA's configuration must also set decision_logs.plugin to
"regometer".

OPA's source comes from the Go module proxy, or from a folder that the command only
reads. The command keeps the binary until OPA, Regometer or Go changes, or until nobody
has used it for a week. The first build takes a few minutes. The drop-in is tested with
OPA ` + opabuild.OldestVersion + ` to ` + opabuild.NewestRange + `. The command refuses older releases and warns about newer ones.

GOOS, GOARCH and variables such as GOARM name another platform, as for go build.

--upstream builds OPA with the series of small changes that is proposed to its
maintainers, or only the first N steps, instead of the drop-in and the plugin.
--write-source writes OPA's source with the parts of Regometer to a new or empty folder,
and builds nothing.

To build a program with OPA inside, name its main package, by its folder or import path,
or with -C a folder of its module. The OPA that the program selects gets the drop-in,
and also the plugin and the hook if the program uses OPA's runtime. The flags after "--"
go to go build. See ` + text.Documents + `embedding.md.

` + text.Documents + `containers.md tells how to make an image of the binary.

` + outputHelp,
		Example: `  regometer build -o opa
  regometer build --opa 1.4.0 -o opa-1.4.0
  GOOS=linux GOARCH=arm64 regometer build --opa ../opa -o opa
  regometer build --unmodified -o opa-as-it-is
  regometer build --upstream=3 -o opa-three-steps
  regometer build --opa ../opa --write-source ../opa-with-regometer
  regometer build -C ../opa-envoy-plugin ./cmd/opa-envoy-plugin -o opa-envoy
  regometer build . -- -tags netgo -ldflags "-s -w"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if names, _, _ := programOf(cmd, args); len(names) > 1 {
				return fmt.Errorf("name one package, not %d: %q", len(names), names)
			}
			return checkProgram(cmd, args, "opa", "upstream", "unmodified", "write-source")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			o.Progress = cmd.ErrOrStderr()
			names, flags, isProgram := programOf(cmd, args)
			o.Package, o.Flags = strings.Join(names, ""), flags
			if source != "" {
				if err := opabuild.WriteSource(ctx, o, source); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), source)
				return nil
			}
			inputs, build := []string{o.OPA}, func(ctx context.Context) (string, error) { return opabuild.Build(ctx, o) }
			if isProgram {
				p, err := opabuild.OpenProgram(ctx, o)
				if err != nil {
					return err
				}
				defer p.Close()
				inputs, build, output.name = p.Folders, p.Build, cmp.Or(output.name, p.Name)
			}
			if err := output.outputs.check(cmd, inputs); err != nil {
				return err
			}
			file, err := build(ctx)
			if err == nil {
				err = output.copy(file)
			}
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), cmp.Or(output.name, file))
			}
			return err
		},
	}
	addOPAFlag(cmd, &o.OPA)
	output = newOutputs(cmd).flag(cmd, "output", "o", executableKind, "`file` to write, or a link to it; by default opa stays in the cache, and a program goes where go build puts it")
	addChdirFlag(cmd, &o.Dir, "go build")
	addPartFlags(cmd, &o, "build")
	addUpstreamFlag(cmd, &o.Upstream)
	cmd.Flags().StringVar(&source, "write-source", "", "new or empty `folder` for the source, which is not built")
	cmd.MarkFlagsMutuallyExclusive("write-source", "output")
	cmd.MarkFlagsMutuallyExclusive("upstream", "unmodified", "no-plugin", "pure")
	return cmd
}

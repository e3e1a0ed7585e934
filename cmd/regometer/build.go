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
	var image imageFlags
	var output *outputFile
	var source string
	cmd := &cobra.Command{
		Use:   "build [-C DIR] [PACKAGE] [-- GO BUILD FLAGS]",
		Short: "Build opa, or a program with OPA inside, with the drop-in and the plugin",
		Long: `Builds an opa binary, another program with OPA inside, or a container image of
either, and prints where the result is. The binary has Regometer's drop-in instead of
OPA's package v1/metrics, fixes to OPA that are proposed to its maintainers, Regometer's
plugin, and a hook, through which the plugin gets each decision straight from the
server. "regometer version FILE" shows what is in a binary. The command leaves out what
does not fit this OPA release, and says so. --pure puts in only the drop-in. --no-plugin
leaves out the plugin and the hook.

The plugin does nothing until OPA's configuration names it: "plugins: {regometer: {}}".
Then /metrics shows the durations of each stage and the outcomes of all decisions by
path. Without the hook, OPA's configuration must also set decision_logs.plugin to
"regometer".

OPA's source comes from the Go module proxy, or from a folder that the command only
reads. The command keeps the binary until OPA, Regometer or Go changes, or until nobody
has used it for a week. The first build takes a few minutes. The drop-in is tested with
OPA ` + opabuild.OldestVersion + ` to ` + opabuild.NewestRange + `. The command refuses older releases and warns about newer ones.

--upstream builds OPA with the series of small changes that is proposed to its
maintainers, or only the first N steps, instead of the drop-in and the plugin.
--write-source writes OPA's source with the parts of Regometer to a new or empty folder,
and builds nothing.

To build a program with OPA inside, name its main package, by its folder or import path,
or with -C a folder of its module. The OPA that the program selects gets the drop-in,
and also the plugin and the hook if the program uses OPA's runtime. The flags after "--"
go to go build. See ` + text.Documents + `embedding.md.

` + buildImageHelp + "\n\n" + outputHelp,
		Example: `  regometer build -o opa
  regometer build --opa 1.4.0 -o opa-1.4.0
  regometer build --opa ../opa --platform linux/arm64 -o opa
  regometer build --unmodified -o opa-as-it-is
  regometer build --upstream=3 -o opa-three-steps
  regometer build --opa ../opa --write-source ../opa-with-regometer
  regometer build -C ../opa-envoy-plugin ./cmd/opa-envoy-plugin -o opa-envoy
  regometer build . -- -tags netgo -ldflags "-s -w"
  regometer build --image opa.tar --platform linux/amd64,linux/arm64
  regometer build ./cmd/server --image server.tar --image-name registry.example.com/server:mine`,
		Args: func(cmd *cobra.Command, args []string) error {
			if names, _, _ := programOf(cmd, args); len(names) > 1 {
				return fmt.Errorf("name one package, not %d: %q", len(names), names)
			}
			return checkProgram(cmd, args, "opa", "upstream", "unmodified", "write-source")
		},
		PreRunE: func(*cobra.Command, []string) error { return image.check(&o, output.name) },
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
			platforms, err := image.targets(&o, isProgram)
			if err != nil {
				return err
			}
			what := opaToBuild(o)
			if isProgram {
				what, err = programToBuild(ctx, o, platforms)
				defer what.close()
				if err != nil {
					return err
				}
			}
			if image.output.name != "" {
				return image.write(cmd, what, platforms, output)
			}
			output.name = cmp.Or(output.name, what.place)
			if err := output.outputs.check(cmd, what.inputs); err != nil {
				return err
			}
			file, err := what.build(ctx, o.Platform)
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
	files := newOutputs(cmd)
	output = files.flag(cmd, "output", "o", executableKind, "`file` to write, or a link to it; by default opa stays in the cache, and a program goes where go build puts it")
	addChdirFlag(cmd, &o.Dir, "go build")
	addPartFlags(cmd, &o, "build")
	addUpstreamFlag(cmd, &o.Upstream)
	image.add(cmd, files)
	cmd.Flags().StringVar(&source, "write-source", "", "new or empty `folder` for the source, which is not built")
	cmd.MarkFlagsMutuallyExclusive("write-source", "output")
	cmd.MarkFlagsMutuallyExclusive("write-source", "image")
	cmd.MarkFlagsMutuallyExclusive("upstream", "unmodified")
	cmd.MarkFlagsMutuallyExclusive("upstream", "no-plugin")
	cmd.MarkFlagsMutuallyExclusive("upstream", "pure")
	return cmd
}

// A toBuild is OPA or a program with OPA inside.
type toBuild struct {
	name     string   // of its binary in an image
	command  []string // the default arguments in an image
	place    string   // where go build puts a program's binary
	inputs   []string // the files and folders that the build reads
	build    func(ctx context.Context, platform string) (file string, err error)
	labels   func(ctx context.Context, file string) (map[string]string, error)
	programs map[string]*opabuild.Program // by platform
}

func opaToBuild(o opabuild.Options) *toBuild {
	return &toBuild{
		name:    "opa",
		command: []string{"run"},
		inputs:  []string{o.OPA},
		build: func(ctx context.Context, platform string) (string, error) {
			o.Platform = platform
			return opabuild.Build(ctx, o)
		},
		labels: func(ctx context.Context, file string) (map[string]string, error) { return opaLabels(ctx, file, o) },
	}
}

// programToBuild opens the program for each platform. The caller must close the
// result, even after an error.
func programToBuild(ctx context.Context, o opabuild.Options, platforms []string) (*toBuild, error) {
	t := &toBuild{programs: map[string]*opabuild.Program{}}
	t.build = func(ctx context.Context, platform string) (string, error) { return t.programs[platform].Build(ctx) }
	t.labels = func(_ context.Context, file string) (map[string]string, error) { return programLabels(file, t.name) }
	for _, platform := range platforms {
		o.Platform = platform
		p, err := opabuild.OpenProgram(ctx, o)
		if err != nil {
			return t, err
		}
		t.programs[platform] = p
		t.name, t.place, t.inputs = strings.TrimSuffix(p.Name, ".exe"), p.Name, p.Folders
	}
	return t, nil
}

func (t *toBuild) close() {
	for _, p := range t.programs {
		p.Close()
	}
}

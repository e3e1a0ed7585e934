// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/opa/opabuild"
)

const opaFlagUsage = "OPA's `version`, or the folder of its source (default \"" + opabuild.NewestVersion + "\")"

func newBuildCommand() *cobra.Command {
	var o opabuild.Options
	var dir string
	var image imageFlags
	cmd := &cobra.Command{
		Use:   "build [-C DIR] [PACKAGE] [-- GO BUILD FLAGS]",
		Short: "Build opa, or a program with OPA inside, with the drop-in and the plugin",
		Long: `Builds an opa binary with the drop-in metrics package and Regometer's decision-log
plugin, and prints its path. In the binary are OPA, the drop-in in the place of its
package v1/metrics, the plugin, and a hook in its package v1/runtime by which the
plugin gets each decision straight from the server, without a decision log;
"regometer version FILE" reads that from the binary.

The plugin does nothing until OPA's configuration names it:

  plugins:
    regometer: {}

From then on /metrics has the durations of each stage and the outcomes of all
decisions by path. If an OPA's runtime is not as the hook expects it, a warning says
so and the binary is built without the hook; decision_logs.plugin has to be
"regometer" then, too.

OPA's source comes from the Go module proxy or from a folder, which is only read.
Links to files there are read too; one to a folder outside of it is refused.
The binary is built as OPA's own Makefile does, without C, and kept: it is built
anew when OPA, the drop-in, the plugin, this program or Go changes. The first build takes a few
minutes. No dependency of OPA moves to another version.

The drop-in is tested with OPA ` + opabuild.OldestVersion + ` to ` + opabuild.NewestRange + `. Older releases are refused, newer ones
are tried with a warning. Before the build OPA's source is searched for names,
methods and fields of its metrics package that it uses and the drop-in lacks, or
has with another signature: it is refused if there are any, and they are named.
What this search cannot see, the compiler finds.

--upstream builds OPA, by default ` + opabuild.UpstreamVersion + `, with the series of small changes to its
package v1/metrics that is proposed to its maintainers, in the place of the drop-in
and the plugin; --upstream=N with its first N steps. An OPA that is not as a step
expects it is refused.

GOOS and GOARCH, or --platform, build for another system.

--image writes a container image, without a container engine: with the binary as
/opa, "opa run" as what it runs, root certificates, an empty /tmp and the user 1000.
What is printed is the digest of the image and where it is. A name that ends in .tar
is an archive, which docker, podman and skopeo load, any other one a folder, an OCI
image layout. The same OPA, Go and regometer make the same digest everywhere; the
image's date is that of SOURCE_DATE_EPOCH, or 1970. Without --platform it is for
Linux on the processor of this machine. With --base it stands on an image of yours:
one in a registry, which is asked with the credentials that "docker login" keeps, or
a file or folder; user and environment are that image's then, and of ours there is
the binary alone. The image of a program has that in the place of opa, and is built
by -trimpath and, unless it has a base or CGO_ENABLED is set, without C.

` + buildProgramHelp,
		Example: `  regometer build -o opa
  regometer build --opa 1.4.0 -o opa-1.4.0
  regometer build --opa ../opa -o opa
  regometer build --no-plugin -o opa-with-drop-in-only
  regometer build --unmodified -o opa-as-it-is
  regometer build --upstream -o opa-proposed
  regometer build --upstream=3 -o opa-three-steps
  regometer build --platform linux/arm64 -o opa-arm64
  regometer build --image opa.tar
  regometer build --image opa.tar --platform linux/amd64,linux/arm64
  regometer build --image opa.tar --base registry.example.com/base:1 --image-name opa:mine
  regometer build ./cmd/server
  regometer build -C ../opa-envoy-plugin ./cmd/opa-envoy-plugin -o opa-envoy
  regometer build . -- -tags netgo -ldflags "-s -w"
  regometer build ./cmd/server --image server.tar`,
		Args:    programArgs(&dir, 1, "opa", "upstream", "unmodified"),
		PreRunE: func(*cobra.Command, []string) error { return image.check(&o) },
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Progress = cmd.ErrOrStderr()
			names, flags, isProgram := programOf(cmd, dir, args)
			p := opabuild.ProgramOptions{
				Dir: dir, Package: strings.Join(names, ""), NoPlugin: o.NoPlugin, Flags: flags,
				Platform: o.Platform, Output: o.Output, Progress: o.Progress,
			}
			if image.output != "" {
				if isProgram {
					return image.writeProgram(cmd, p)
				}
				return image.write(cmd, opaImage(o))
			}
			build := func() (string, error) { return opabuild.Build(cmd.Context(), o) }
			if isProgram {
				build = func() (string, error) { return opabuild.BuildProgram(cmd.Context(), p) }
			}
			path, err := build()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	addOPAFlag(cmd, &o.OPA)
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "`file` to write, or a link to one; without it opa stays in the cache, and a program goes where go build puts it")
	addChdirFlag(cmd, &dir)
	addGoFlagHint(cmd, "go build")
	addPartFlags(cmd, &o, "build")
	addUpstreamFlag(cmd, &o.Upstream)
	image.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("upstream", "unmodified")
	cmd.MarkFlagsMutuallyExclusive("upstream", "no-plugin")
	return cmd
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

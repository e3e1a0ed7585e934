// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command regometer reads decision logs of Open Policy Agent (OPA), and builds,
// runs and verifies OPA with the drop-in metrics package and the plugin of
// Regometer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(untilSignal(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses, beside those of opa itself.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130 // see interruptedStatus
)

// run is the whole command. It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	started := false // false: what the arguments say could not be done
	for _, cmd := range root.Commands() {
		do := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			started = true
			return do(cmd, args)
		}
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var status statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "regometer: interrupted")
		return interruptedStatus(ctx)
	case !started:
		fmt.Fprintf(stderr, "regometer: %v\nRun '%s --help' for usage.\n", err, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "regometer: %v\n", err)
	return exitFailure
}

// A statusError is an error that is told already.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "regometer",
		Short: "Where the time of Open Policy Agent's decisions goes",
		Long: `Reads the decision logs of any Open Policy Agent (OPA) and says where the time went:
report, compare.

Builds, runs and verifies OPA with its package v1/metrics replaced by Regometer's:
the same interface, names and JSON, in a fraction of the time and memory. It adds a
plugin, by which Prometheus sees how long each stage of the decisions takes: build,
opa, patch, verify.

To build needs Go on PATH, and for the first build of an OPA release a Go module proxy.
What is built is kept in the folder $REGOMETER_CACHE or "regometer" in the user's
cache folder, which may be deleted at any time.`,
		Example: `  regometer demo
  regometer report decisions.log
  regometer build -o opa
  regometer opa -- run --server policy.rego`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newBuildCommand(),
		newCompareCommand(),
		newDemoCommand(),
		newMergeCommand(),
		newOPACommand(),
		newPatchCommand(),
		newReportCommand(),
		newSampleCommand(),
		newVerifyCommand(),
		newVersionCommand(),
	)
	return root
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command regometer reads decision logs of Open Policy Agent (OPA), and builds,
// runs and verifies OPA with the drop-in metrics package and the plugin of
// Regometer.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(untilSignal(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignal returns a context that the first signal cancels, so that the work
// stops in an orderly way. After that the system's defaults apply, so a second
// signal ends the process.
func untilSignal(parent context.Context) context.Context {
	// Signals that nohup or a background job ignores stay ignored.
	list := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	if len(list) == 0 { // which would stand for all signals
		return parent
	}
	ctx, stop := signal.NotifyContext(parent, list...)
	context.AfterFunc(ctx, stop)
	return ctx
}

// run runs the command and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	started := false // whether the arguments were valid
	for _, cmd := range root.Commands() {
		do := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			started = true
			return do(cmd, args)
		}
	}
	// Cobra's own commands end with status 0 if they get a wrong name.
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error { _, _, err := root.Find(args); return err }
		case "completion":
			cmd.RunE = func(*cobra.Command, []string) error { return errors.New("name a shell: bash, fish, powershell or zsh") }
		}
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &standardOutput{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	if len(args) == 0 { // the output is the help
		root.SetOut(stderr)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil {
		started, err = true, cmp.Or(err, out.err)
	}
	var status statusError
	switch {
	case err == nil && len(args) == 0:
		return exitUsage
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "regometer: interrupted")
		return exitInterrupted
	case !started:
		message := exclusive.ReplaceAllString(withoutFunction(err), "use only one of these flags: $1")
		fmt.Fprintf(stderr, "regometer: %s\nRun '%s --help' for usage.\n", message, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "regometer: %s\n", withoutFunction(err))
	return exitFailure
}

// withoutFunction leaves out what Go's packages put before the cause of an error.
// The error already names the file, or the flag and its value.
func withoutFunction(err error) string { return goFunction.ReplaceAllString(err.Error(), "$1") }

var goFunction = regexp.MustCompile(`(^|: )l?stat |strconv\.\w+: parsing "[^"]*": `)

// exclusive matches Cobra's error of flags that exclude each other.
var exclusive = regexp.MustCompile(`^if any flags in the group .* \[(.+)\] were all set$`)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "regometer",
		Short:   "See where Open Policy Agent's time goes",
		Version: ownVersion(),
		Long: `"report" and "compare" read the decision logs of any Open Policy Agent (OPA) and show
where the time went. "replay" evaluates their decisions again, to find the rule and line.
"collect" counts the decisions that any OPA uploads, for Prometheus.

"build", "opa" and "verify" build, run and check OPA with Regometer's package
v1/metrics. It has the same interface, names and JSON as OPA's own, and takes a
fraction of the time and memory. "build" and "opa" also add a plugin, which shows
Prometheus the duration of each stage.

A build needs Go on PATH. The first build of an OPA release also needs a Go module
proxy. Builds are kept in $REGOMETER_CACHE or, by default, in "regometer" in your cache
folder. You can delete this folder at any time.`,
		Example: `  regometer demo
  regometer report decisions.log
  regometer collect --forward https://logs.example.com
  regometer build -o opa
  regometer opa -- run --server policy.rego`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		newBuildCommand(),
		newCollectCommand(),
		newCompareCommand(),
		newDemoCommand(),
		newMergeCommand(),
		newOPACommand(),
		newReplayCommand(),
		newReportCommand(),
		newSampleCommand(),
		newVerifyCommand(),
		newVersionCommand(),
	)
	return root
}

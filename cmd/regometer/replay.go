// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/config"
	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/replay"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

func newReplayCommand() *cobra.Command {
	var o replay.Options
	var policies, against []string
	var file string // of the configuration
	var network bool
	var files *outputs
	var html, pprof *outputFile
	shown := output.Options{Suite: "regometer replay"}
	cmd := &cobra.Command{
		Use:   "replay --policy FILE|FOLDER|BUNDLE FILE|FOLDER|- ...",
		Short: "Evaluate the decisions of a log again, to see what changed and which rule takes the time",
		Long: `Evaluates the decisions of a log again, with the same input, at the same time, and with
the answers of built-in functions in nd_builtin_cache. It compares each result with the
one in the log, or with --against with that of another policy, and shows which rules and
lines take the time, and which ones no evaluation has reached. No server is asked or
changed, and no built-in function gets a connection, unless --network allows it.

Without --all, it evaluates a sample of up to 20,000 decisions that stands for all.

` + outputHelp + "\nSee " + text.Documents + "replay.md for the meaning of the results.",
		Example: `  regometer replay --policy bundle.tar.gz logs
  regometer replay --policy policy/ --path httpapi/authz --since 24h logs
  regometer replay --policy new/ --against old.tar.gz --fail-on 'allowed-to-denied>0.1%' logs
  regometer replay --policy bundle.tar.gz --html replay.html logs
  regometer replay --policy bundle.tar.gz --pprof rego.pb.gz logs
  regometer replay --config opa.yaml --all --format json logs > replay.json`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			o.Read.Inputs, o.Read.Stdin = args, cmd.InOrStdin()
			switch {
			case len(policies) == 0 && file == "":
				return errors.New("there is no policy: name it with --policy, or give --config the configuration of OPA with services and bundles")
			case slices.Contains(slices.Concat(policies, against), ""):
				return errors.New("--policy or --against is empty")
			case o.Timeout <= 0:
				return errors.New("--timeout must be more than 0")
			case len(o.Thresholds.Times) > 0 && against == nil:
				return errors.New("--fail-on: a threshold for times needs --against, because the log's times are those of another machine")
			}
			return o.Read.Check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			logs, err := report.InputFiles(o.Read.Inputs)
			if err != nil {
				return err
			}
			if err := files.check(cmd, slices.Concat(policies, against, []string{file}), logs...); err != nil {
				return err
			}
			opa, err := collect.ReadConfig(file)
			if err != nil {
				return fmt.Errorf("--config: %w", err)
			}
			if o.Policy, err = replay.Load(ctx, policies, opa, network); err != nil {
				if file != "" && policies != nil {
					err = fmt.Errorf("%w; --policy and --config are one policy together: leave one out if both have the same rules", err)
				}
				return fmt.Errorf("cannot load the policy: %w", err)
			}
			if against != nil {
				if o.Against, err = replay.Load(ctx, against, config.Config{}, network); err != nil {
					return fmt.Errorf("--against: %w", err)
				}
			}
			progress := newProgressLine(cmd.ErrOrStderr())
			o.Read.Progress, o.Progress = progress.report, progress.show
			r, failure := replay.Run(ctx, o)
			progress.clear()
			if r == nil {
				return failure
			}
			if err := errors.Join(html.write(r.WriteHTML), pprof.write(r.Profile.WritePprof), printResult(cmd.OutOrStdout(), r, shown)); err != nil {
				return err
			}
			explain(cmd.ErrOrStderr(), r.Inputs)
			var paths []string
			for _, p := range r.Paths {
				paths = append(paths, p.Path)
			}
			explainRules(cmd.ErrOrStderr(), o.Read.Outcomes, paths)
			switch {
			case failure != nil:
				return failure
			case r.Interrupted:
				return statusError(exitInterrupted)
			case r.Decisions == 0:
				return emptyError(cmd.ErrOrStderr(), r.Inputs, "no decision was evaluated")
			}
			return failedChecks(cmd.ErrOrStderr(), r.Checks(nil))
		},
	}
	flags := cmd.Flags()
	addReadFlags(cmd, &o.Read)
	flags.StringArrayVar(&policies, "policy", nil, "Rego `file`, folder or bundle, with its data; may be repeated")
	flags.StringArrayVar(&against, "against", nil, "Rego `file`, folder or bundle of the policy before, to compare with, and not with the log; may be repeated")
	flags.StringVar(&file, "config", "", "`file` with OPA's configuration, for services and bundles")
	flags.BoolVar(&o.All, "all", false, "evaluate all decisions, and not a sample")
	flags.BoolVar(&network, "network", false, "let built-in functions connect to other machines")
	flags.BoolVar(&o.Inputs, "show-input", false, "show the inputs of decisions that are not equal, which may be personal data")
	flags.DurationVar(&o.Timeout, "timeout", time.Second, "longest `time` of an evaluation")
	sizeFlag(cmd, &o.Memory, "memory", "end before the command needs more than this `size` of memory")
	addFormatFlag(cmd, &shown)
	flags.Func("fail-on", "exit with status 3 beyond this `threshold` of the decisions that are changed, apart, not-repeatable, allowed-to-denied, denied-to-allowed or other, such as 'changed>0' or 'other>0.1%', or with --against of a quantile, such as 'p99:rego_query_eval>+20%'; may be repeated", o.Thresholds.Add)
	files = newOutputs(cmd)
	html = files.flag(cmd, "html", "", pageKind, "also write the report as a web page to this `file`")
	pprof = files.flag(cmd, "pprof", "", profileKind, "also write a profile of the rules for go tool pprof to this `file`")
	addNumberFlag(cmd, &shown.Top, "top", 10, "`number` of rows in each table; 0 for all (default 10)")
	return cmd
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	pathpkg "path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regometer/regometer/cmd/regometer/internal/parquetlog"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/rollup"
)

func newReportCommand() *cobra.Command {
	var o report.Options
	var out reportOutput
	var parquet *outputFile
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   "report FILE|FOLDER|- ...",
		Short: "Show where the time went, from OPA's decision logs",
		Long: `Reads the decision logs of any OPA: what OPA uploads, prints to its console or writes with
its file logger, in any wrapper of JSON, compressed, or in archives. It says first how
much of them it could read, then prints findings, with remedies, then for each decision
path how the decisions ended, and how long each stage took. It reads folders with their
subfolders. - is standard input. After Ctrl-C the report has what was read until then.

With --fail-on, the exit status is 3 if one of the named rules has a finding or did not
run. --fail-on fault is for all rules, but not for their findings that are only for
information (info). The status is 4 if the report has no decisions.

--by input:FIELD and --by result:FIELD group by a field, such as input:user.name or the
JSON pointer input:/user/name. Its values may be personal data. Saved reports, pages,
Parquet files and annotations then contain them.

` + outputHelp + `

See ` + text.Documents + `report.md for the meaning of all figures.`,
		Example: `  regometer report decisions.log
  regometer report --top 5 --slowest 10 /var/log/opa
  regometer report --by label:id --since 24h logs
  regometer report --by input:user --path httpapi/authz logs
  regometer report - < console.log
  regometer report --html report.html logs
  regometer report --save monday.rgm --since 2026-01-05 --until 2026-01-06 logs
  regometer report --path httpapi/authz --format json logs > report.json
  regometer report --outcome 'app/main=result.granted' --outcome 'app/quota=not result.reasons' logs
  regometer report --fail-on errors_rose,revision_slower logs
  regometer report --parquet decisions.parquet logs`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			o.Inputs, o.Stdin = args, cmd.InOrStdin()
			return o.Check()
		},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			limitMemory()
			files, err := report.InputFiles(o.Inputs)
			if err != nil && !(allowEmpty && errors.Is(err, report.ErrNoFile)) {
				return err
			}
			if err := out.files.check(cmd, nil, files...); err != nil {
				return err
			}
			progress := newProgressLine(cmd.ErrOrStderr())
			o.Progress = progress.report
			var x *report.Data
			var readErr error
			readLogs := func() error {
				x, readErr = report.ReadFiles(cmd.Context(), o, files)
				progress.clear()
				return readErr
			}
			err = parquet.write(func(w io.Writer) error {
				rows := parquetlog.NewWriter(w)
				o.Each = func(key func(int32) string, _ func(*logread.Event) func() report.Place) func(*logread.Event, [][]byte) error {
					return rows.Rows(key).Add
				}
				return errors.Join(readLogs(), rows.Close())
			})
			if parquet.name == "" { // nothing was written
				err = readLogs()
			}
			// An error of the logs must not name --parquet.
			if err := cmp.Or(readErr, err); err != nil {
				return err
			}
			runtime.GC() // the findings need memory: better what the workers used than more
			r, err := out.write(cmd.OutOrStdout(), x)
			if err != nil {
				return err
			}
			explain(cmd.ErrOrStderr(), &r.Inputs)
			explainRules(cmd.ErrOrStderr(), o.Outcomes, pathsOf(r))
			if r.Interrupted {
				fmt.Fprintln(cmd.ErrOrStderr(), "regometer: interrupted: the output covers only what was read until then")
				return statusError(exitInterrupted)
			}
			if err := failedChecks(cmd.ErrOrStderr(), r.Checks(out.shown.FailOn)); err != nil {
				return err
			}
			if r.Total.Decisions == 0 && !allowEmpty {
				return emptyError(cmd.ErrOrStderr(), &r.Inputs, "the report has no decisions; with --allow-empty the exit status is 0")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.By, "by", "path", "group decisions by path, bundle, requested_by, hour, day, label:`KEY`, rule:KEY, input:FIELD or result:FIELD")
	complete(cmd, "by", cobra.ShellCompDirectiveNoFileComp, "path", "bundle", "requested_by", "hour", "day", "label:id", "rule:", "input:", "result:")
	addReadFlags(cmd, &o)
	out.flags(cmd)
	addNumberFlag(cmd, &o.Slowest, "slowest", 0, "also list this `number` of the slowest decisions")
	parquet = out.files.flag(cmd, "parquet", "", parquetKind, "also write the decisions to this Parquet `file`, one row each")
	flags.BoolVar(&allowEmpty, "allow-empty", false, "exit with status 0, not 4, if the report has no decisions")
	return cmd
}

// limitMemory makes the garbage collector work harder, since a report allocates
// little while it reads, and harder still once it needs much memory. Collecting
// a small heap saves nothing, so the first collection waits for most of the
// memory of a large log. limitMemory leaves what GOGC and GOMEMLIMIT set.
func limitMemory() {
	const first, percent, soft = 52 << 20, 25, 160 << 20 // bytes, percent, bytes
	isSet := func(name string) bool { return os.Getenv(name) != "" }
	switch {
	case !isSet("GOGC") && !isSet("GOMEMLIMIT"):
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(first)
		runtime.AddCleanup(new([64]byte), func(percent int) {
			debug.SetGCPercent(percent)
			debug.SetMemoryLimit(soft)
		}, percent)
	case !isSet("GOGC"):
		debug.SetGCPercent(percent)
	case !isSet("GOMEMLIMIT"):
		debug.SetMemoryLimit(soft)
	}
}

// readFlags are the flags that addReadFlags adds.
var readFlags = []string{"path", "outcome", "since", "until", "unique"}

// addReadFlags adds the flags that select decisions of a log and tell their
// outcomes.
func addReadFlags(cmd *cobra.Command, o *report.Options) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Paths, "path", nil, "only decisions whose path begins with this `pattern`, such as httpapi/authz or tenants/*/authz; may be repeated")
	o.Outcomes = map[string]string{}
	flags.Func("outcome", "how results of a path end: `PATH=RULE`, such as 'app/main=result.granted'; may be repeated", func(text string) error {
		path, rule, isRule := strings.Cut(text, "=")
		if !isRule {
			return errors.New("write PATH=RULE, such as 'app/main=result.granted'")
		}
		if _, ok := o.Outcomes[path]; ok {
			return fmt.Errorf("there are two rules for %s: leave one out", path)
		}
		o.Outcomes[path] = rule
		return nil
	})
	flags.Func("since", "only decisions from this `time` on: 2026-01-02T15:04:05Z, 2026-01-02, or 24h for the last day", timeFlag(&o.Since))
	flags.Func("until", "only decisions before this `time`", timeFlag(&o.Until))
	flags.BoolVar(&o.Unique, "unique", false, "count each decision once; if copies differ, any of them counts")
}

// timeFlag returns a function that parses a time, or a duration before now,
// into to.
func timeFlag(to *time.Time) func(text string) error {
	return func(text string) (err error) {
		if text == "" { // an empty variable of a script: no limit
			*to = time.Time{}
			return nil
		}
		for _, layout := range [...]string{time.RFC3339Nano, time.DateOnly} {
			// Nanoseconds since 1970 can have these years.
			if *to, err = time.Parse(layout, text); err == nil && to.Year() >= 1678 && to.Year() <= 2261 {
				return nil
			}
		}
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			*to = time.Now().Add(-d)
			return nil
		}
		return errors.New("write 2026-01-02T15:04:05Z, 2026-01-02, or 90m for 90 minutes ago")
	}
}

// explain says how to read files in a form that is not read. It describes a
// decision log, and shows the beginning of a file that is none.
func explain(stderr io.Writer, in *report.Inputs) {
	for _, p := range in.Problems {
		if remedy := p.Remedy(); remedy != "" {
			fmt.Fprintln(stderr, "regometer:", text.Fit(remedy, 400))
		}
		if p.Kind != report.NoDecisionLog {
			continue
		}
		fmt.Fprintln(stderr, "regometer:", text.Fit(in.Unrecognised, 600))
		fmt.Fprintln(stderr, "An event is a JSON object with decision_id and one of path, query and labels, or with metrics and enough\n"+
			"other members of events. If it has msg, this is \"Decision Log\".\n"+
			"See "+text.Documents+"report.md for the forms that regometer reads.")
	}
}

// pathsOf returns the paths of a report's groups, or of all decisions if the groups
// are not paths.
func pathsOf(r *report.Report) (paths []string) {
	if r.By != "path" {
		return []string{rollup.Other}
	}
	for _, g := range r.Groups.Sums() {
		paths = append(paths, g.Key)
	}
	return paths
}

// explainRules names the rules of --outcome that judged no decision, because none
// has one of their paths.
func explainRules(stderr io.Writer, rules map[string]string, paths []string) {
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		has := func(key string) bool {
			same, _ := pathpkg.Match(rule, key)
			return same || key == rollup.Other // which may have any path
		}
		if !slices.ContainsFunc(paths, has) {
			fmt.Fprintf(stderr, "regometer: --outcome: no selected decision has the path %s: check how it is spelled\n", rule)
		}
	}
}

// emptyError says that there are no decisions. It returns the error for the
// exit status.
func emptyError(stderr io.Writer, in *report.Inputs, message string) error {
	if in.Bytes == 0 {
		message = "standard input, or each file, is empty: " + message
	}
	fmt.Fprintln(stderr, "regometer:", message)
	return statusError(exitEmpty)
}

// A progressLine shows progress on a terminal, from the third second on.
type progressLine struct {
	mu    sync.Mutex
	w     io.Writer
	on    bool
	shown bool
	last  time.Duration // when it was last shown, since the start
}

func newProgressLine(w io.Writer) *progressLine {
	f := fileOf(w)
	return &progressLine{w: w, on: f != nil && term.IsTerminal(int(f.Fd()))}
}

// report shows the progress of a report.
func (l *progressLine) report(p report.Progress) { l.show(p.Elapsed, p) }

// show shows the progress, at most five times a second.
func (l *progressLine) show(elapsed time.Duration, progress any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const first, every = 2 * time.Second, 200 * time.Millisecond
	if !l.on || elapsed < first || l.shown && elapsed < l.last+every {
		return
	}
	fmt.Fprintf(l.w, "\r\x1b[K%v", progress)
	l.shown, l.last = true, elapsed
}

// clear removes the line.
func (l *progressLine) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

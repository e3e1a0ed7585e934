// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/report"
)

func newReportCommand() *cobra.Command {
	var o report.Options
	var since, until string
	var out reportOutput
	var parquet *output
	cmd := &cobra.Command{
		Use:   "report FILE|FOLDER|- ...",
		Short: "See where the time of the decisions in OPA's decision logs went",
		Long: `Reads the decision logs of any OPA. Prints findings and their remedies first. Then it
prints, for each decision path, the numbers of decisions that were allowed, denied,
undefined or failed, and the durations of each stage.

A log can be what OPA uploads, prints to its console or writes by its file logger,
one event a line or pretty-printed, among other lines, gzip or zstd, and as Docker,
Kubernetes, Splunk and Fluent Bit wrap it. The content of a file tells its form.
Folders are read with the folders in them. A file that is named twice is read once.
- is standard input.

Problems of a log are counted and shown with file and line, and the rest is read.
With --strict they are an error. After Ctrl-C the report has what was read until then.

With --save, "regometer merge" makes one report of those of many machines or days.
--parquet also writes the report's decisions to a Parquet file, one row each, without
input and result, for DuckDB, Spark, Trino and ClickHouse.

` + outputHelp + `

Percentiles are within 1.1 % of the exact ones; counts, sums and extremes are exact.
Times are in UTC. JSON and CSV have nanoseconds.`,
		Example: `  regometer report decisions.log
  regometer report --top 5 --slowest 10 /var/log/opa
  regometer report --by label:id --since 24h logs/*.gz
  regometer report - < console.log
  regometer report --html report.html logs
  regometer report --save monday.rgm --since 2026-01-05 --until 2026-01-06 logs
  regometer report --path httpapi/authz --format json logs > report.json
  regometer report --parquet decisions.parquet logs`,
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			o.Inputs, o.Stdin = args, cmd.InOrStdin()
			now := time.Now()
			if o.Since, err = timeOf(since, now); err != nil {
				return fmt.Errorf("--since: %w", err)
			}
			if o.Until, err = timeOf(until, now); err != nil {
				return fmt.Errorf("--until: %w", err)
			}
			if err := out.check(); err != nil {
				return err
			}
			return o.Check()
		},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			limitMemory()
			files, err := report.InputFiles(o.Inputs)
			if err != nil {
				return err
			}
			if err := out.files.check(cmd, files); err != nil {
				return err
			}
			var rows *parquetFile
			if parquet.name != "" {
				if rows, err = newParquetFile(parquet); err != nil {
					return err
				}
				defer rows.file.Discard()
				o.Each = func(key func(int32) string) func(*decisionlog.Event) error {
					return rows.Rows(key).Add
				}
			}
			progress := newProgressLine(cmd.ErrOrStderr())
			o.Progress = progress.report
			x, err := report.Read(cmd.Context(), o)
			progress.clear()
			if err != nil {
				return err
			}
			if rows != nil {
				if err := rows.finish(); err != nil {
					return err
				}
			}
			r, err := out.write(cmd.OutOrStdout(), x)
			if err != nil {
				return err
			}
			explain(cmd.ErrOrStderr(), r.Inputs.Problems)
			switch {
			case r.Interrupted:
				what := "the report covers"
				if rows != nil {
					what = "the report and " + parquet.name + " cover"
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "regometer: interrupted: %s only what was read until then\n", what)
				return statusError(interruptedStatus(cmd.Context()))
			case o.Strict && len(r.Inputs.Problems) > 0:
				return strictError(r.Inputs.Problems)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.By, "by", "path", "key of the groups: path, stage, bundle, requested_by, hour, day or label:`KEY`")
	flags.StringSliceVar(&o.Paths, "path", nil, "only decisions whose path begins with this `pattern`, such as httpapi/authz or tenants/*/authz")
	flags.StringVar(&since, "since", "", "only decisions from this `time` on: 2026-01-02T15:04:05Z, 2026-01-02, or 24h for the last day")
	flags.StringVar(&until, "until", "", "only decisions before this `time`")
	out.flags(cmd)
	flags.IntVar(&o.Slowest, "slowest", 0, "list this number of the slowest decisions")
	parquet = out.files.flag(cmd, "parquet", "", parquetKind, "also write the decisions to this Parquet `file`, one row each")
	flags.BoolVar(&o.Exact, "exact", false, "sort all durations for exact percentiles: for smaller logs")
	flags.BoolVar(&o.Strict, "strict", false, "check every byte of the events, and fail if the logs have a problem")
	flags.IntVar(&o.Workers, "workers", 0, "number of goroutines that read; 0 for one for each processor")
	cmd.MarkFlagsMutuallyExclusive("exact", "save")
	return cmd
}

// limitMemory makes the garbage collector work harder when a report needs much
// memory, unless GOMEMLIMIT sets another limit.
func limitMemory() {
	const soft = 160 << 20 // bytes
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(soft)
	}
}

// timeOf parses a time, or a duration before now. It returns the zero time of
// "".
func timeOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range [...]string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("invalid time %q: write 2026-01-02T15:04:05Z, 2026-01-02, or 90m for 90 minutes ago", text)
}

// explain describes a decision log if a file is not one.
func explain(stderr io.Writer, problems []report.Problem) {
	for _, p := range problems {
		if p.Kind != report.NoDecisionLog {
			continue
		}
		for _, place := range p.First {
			fmt.Fprintf(stderr, "regometer: %s has no decision\n", place.File)
		}
		fmt.Fprintln(stderr, `regometer: a decision log has JSON events with "labels" or "decision_id", and with "path", "query" or "decision_id",`+
			"\nas OPA logs them; see docs/report.md for what may be around them")
	}
}

// strictError is the error of --strict.
func strictError(problems []report.Problem) error {
	var kinds []string
	for _, p := range problems {
		text := fmt.Sprintf("%s (%d", p.Kind, p.Count)
		if len(p.First) > 0 {
			text += fmt.Sprintf(", first in %s:%d", p.First[0].File, p.First[0].Line)
		}
		kinds = append(kinds, text+")")
	}
	return fmt.Errorf("the logs have problems: %s", strings.Join(kinds, ", "))
}

// A progressLine shows the progress on a terminal, after two seconds.
type progressLine struct {
	w     io.Writer
	on    bool
	shown bool
	last  time.Duration // when it was shown, since the start
}

func newProgressLine(w io.Writer) *progressLine {
	f, ok := w.(*os.File)
	return &progressLine{w: w, on: ok && term.IsTerminal(int(f.Fd()))}
}

func (l *progressLine) report(p report.Progress) { l.show(p.Elapsed, p.String()) }

// show shows the text, at most five times a second.
func (l *progressLine) show(elapsed time.Duration, text string) {
	const first, every = 2 * time.Second, 200 * time.Millisecond
	if !l.on || elapsed < first || l.shown && elapsed < l.last+every {
		return
	}
	fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	l.shown, l.last = true, elapsed
}

// clear removes the line.
func (l *progressLine) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

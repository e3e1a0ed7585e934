// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/page"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// reportOutput has the flags that say where a report goes.
type reportOutput struct {
	shown      output.Options
	files      *outputs
	html, save *outputFile
}

func (o *reportOutput) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.shown.Suite = "regometer report"
	addFormatFlag(cmd, &o.shown)
	addNumberFlag(cmd, &o.shown.Top, "top", 20, "`number` of groups in the table; 0 for all (default 20)")
	flags.Func("fail-on", "exit with status 3 if one of these `rules` has a finding or did not run, such as errors_rose, or for \"fault\" if any rule found a fault; may be repeated", func(text string) error {
		names := strings.Split(text, ",")
		for _, name := range names {
			if known := append(report.RuleNames(), report.Fault); !slices.Contains(known, name) {
				return fmt.Errorf("no rule is named %q: use one of %s", name, strings.Join(known, ", "))
			}
		}
		o.shown.FailOn = append(o.shown.FailOn, names...)
		return nil
	})
	o.files = newOutputs(cmd)
	o.html = o.files.flag(cmd, "html", "", pageKind, "also write the report as a web page with charts to this `file`")
	o.save = o.files.flag(cmd, "save", "", savedKind, "also save the report in `FILE.rgm`, for regometer merge and compare")
}

// write writes a report to the files that the flags name, and then to standard
// output, whose reader may leave, as head does. It returns the report.
func (o *reportOutput) write(stdout io.Writer, x *report.Data) (*report.Report, error) {
	r := x.Report()
	return r, errors.Join(
		o.html.write(func(w io.Writer) error { return page.Write(w, r) }),
		o.save.write(x.Save),
		printResult(stdout, r, o.shown),
	)
}

// failedChecks prints the checks that failed, each with the first of its texts,
// which may have names from a log. It returns an error if there is one.
func failedChecks(stderr io.Writer, checks []output.Check) (err error) {
	for _, c := range checks {
		if c.Failed {
			fmt.Fprintf(stderr, "regometer: --fail-on: %s\n", text.Fit(c.Name+": "+c.Texts[0], 1000))
			err = statusError(exitExceeded)
		}
	}
	return err
}

// addFormatFlag adds the flag that chooses a format.
func addFormatFlag(cmd *cobra.Command, to *output.Options) {
	names := strings.Join(output.Formats, ", ")
	cmd.Flags().Func("format", "`format` of the output: "+names+" (default table)", func(name string) error {
		if !slices.Contains(output.Formats, name) {
			return errors.New("use one of " + names)
		}
		to.Format = name
		return nil
	})
	complete(cmd, "format", cobra.ShellCompDirectiveNoFileComp, output.Formats...)
}

// printResult writes a result to standard output.
func printResult(w io.Writer, r output.Result, o output.Options) error {
	o.Width, o.Colors = terminal(w)
	return output.Write(w, r, o)
}

// terminal returns the width of a table on w, and reports whether w shows
// colours.
func terminal(w io.Writer) (width int, colours bool) {
	const otherwise = 120 // columns
	if f := fileOf(w); f != nil && term.IsTerminal(int(f.Fd())) {
		colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width, colours
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width, colours
	}
	return otherwise, colours
}

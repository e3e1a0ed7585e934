// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regometer/regometer/internal/app/page"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/text"
)

// reportOutput has the flags that say where a report goes.
type reportOutput struct {
	format     string
	stages     []string
	top        int
	files      *outputs
	html, save *output
}

func (o *reportOutput) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "table", "table, json, csv or markdown")
	flags.IntVar(&o.top, "top", 20, "number of groups in the table; 0 for all")
	flags.StringSliceVar(&o.stages, "stage", nil, "show only these `stages`, such as rego_query_eval")
	o.files = newOutputs(cmd)
	o.html = o.files.flag(cmd, "html", "", pageKind, "also write the report as a web page, with plots, to this `file`")
	o.save = o.files.flag(cmd, "save", "", savedKind, "also save the report in `FILE.rgm`, for regometer merge and compare")
}

// check returns an error if the flags are invalid.
func (o *reportOutput) check() error {
	_, err := reportWriter(o.format, nil, 0)
	return err
}

// write writes a report to standard output and into the files that are asked
// for.
func (o *reportOutput) write(stdout io.Writer, x *report.Data) (*report.Report, error) {
	write, err := reportWriter(o.format, stdout, o.top)
	if err != nil {
		return nil, err
	}
	r := x.Report()
	if o.stages != nil && !r.Only(o.stages) {
		return nil, fmt.Errorf("--stage: no decision has the stage %s: use one of %s", strings.Join(o.stages, " or "), strings.Join(stagesOf(x.Report()), ", "))
	}
	if err := write(r); err != nil {
		return nil, err
	}
	if err := o.html.write(func(w io.Writer) error { return page.Write(w, r) }); err != nil {
		return nil, err
	}
	return r, o.save.write(x.Save)
}

// stagesOf returns the names of the stages of all decisions.
func stagesOf(r *report.Report) (names []string) {
	for _, s := range r.Total.Stages {
		names = append(names, s.Name)
	}
	return names
}

// reportWriter returns a function that writes a report to w. It fails if the
// format is invalid.
func reportWriter(format string, w io.Writer, top int) (func(*report.Report) error, error) {
	switch format {
	case "table":
		width, colours := terminal(w)
		return func(r *report.Report) error {
			return report.WriteTable(w, r, text.Options{Width: width, Colors: colours, Top: top})
		}, nil
	case "markdown":
		return func(r *report.Report) error { return report.WriteMarkdown(w, r, top) }, nil
	case "json":
		return func(r *report.Report) error { return report.WriteJSON(w, r) }, nil
	case "csv":
		return func(r *report.Report) error { return report.WriteCSV(w, r) }, nil
	}
	return nil, fmt.Errorf("--format: invalid format %q: use table, json, csv or markdown", format)
}

// terminal returns the width of a table for w, and whether it has colours.
func terminal(w io.Writer) (width int, colours bool) {
	const otherwise = 120 // columns
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
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

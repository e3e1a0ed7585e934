// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// A Report is the outcome of [Verify].
type Report struct {
	OPA      string // the name of the OPA or program that was tested
	Upstream int    // the number of steps of the Series in it; 0 is the drop-in
	Packages []PackageReport
	// ChangedTests are OPA's files of tests that the fixes change.
	ChangedTests []string
}

// changeName names the change by the number of steps of the series.
func changeName(steps int) string {
	if steps == 0 {
		return "the drop-in"
	}
	return stepsName(steps)
}

// A PackageReport is the outcome for one package of OPA.
type PackageReport struct {
	Package             string // such as "v1/server"
	Unmodified, Changed Side
	Findings            []Finding
	LeftOut             []string // tests that the change removes with the code that they test
}

// A Side counts the results of a package's tests and subtests on one side.
type Side struct {
	Passed, Failed, Skipped int
	Broken                  int     // packages whose tests do not compile, cannot start or end early
	Seconds                 float64 // without compiling
}

func (r *testRun) side() Side {
	s := Side{Passed: r.count("pass"), Failed: r.count("fail"), Skipped: r.count("skip"), Seconds: r.seconds}
	if r.results[""] == "fail" {
		s.Broken = 1
	}
	return s
}

func (s Side) String() string {
	said := fmt.Sprintf("%d passed, %d failed, %d skipped in %.1f s", s.Passed, s.Failed, s.Skipped, s.Seconds)
	if s.Broken > 0 {
		said += ", does not compile, cannot start or ends early"
	}
	return said
}

// A Kind says how a test failed.
type Kind int

// The kinds of findings. The change is the cause of the first two.
const (
	FailsChanged   Kind = iota // fails with the change in both runs, and passes on the unmodified OPA
	MissingChanged             // runs only on the unmodified OPA, in both runs
	FailsOnOPA                 // fails on the unmodified OPA, at least on this machine
	Flaky                      // did worse with the change, and had another result in the second run
)

// kindText has the kinds in the report. CHANGE stands for the change's name.
var kindText = [...]string{
	FailsChanged:   "FAILS with CHANGE, passes on the unmodified OPA (both run twice)",
	MissingChanged: "MISSING with CHANGE, runs on the unmodified OPA (both run twice)",
	FailsOnOPA:     "fails on the unmodified OPA, on this machine",
	Flaky:          "flaky: another result when both were run again",
}

// A Finding is a test that did not pass on both sides.
type Finding struct {
	Test   string // "" is the package as a whole
	Kind   Kind
	Output string
}

// OK reports whether tests ran, and none does worse with the change.
func (r *Report) OK() bool {
	_, ok := r.verdict()
	return ok
}

// verdict returns the last line of the report, and whether the report is good.
func (r *Report) verdict() (line string, ok bool) {
	change, n, ran := changeName(r.Upstream), 0, false
	for _, p := range r.Packages {
		ran = ran || p.Unmodified.Passed+p.Unmodified.Failed > 0
		for _, f := range p.Findings {
			if f.Kind <= MissingChanged {
				n++
			}
		}
	}
	switch {
	case n > 0:
		return fmt.Sprintf("FAIL: %d tests of %s do worse with %s", n, r.OPA, change), false
	case !ran:
		return fmt.Sprintf("FAIL: no test of %s ran on the unmodified OPA", r.OPA), false
	}
	return fmt.Sprintf("ok: no test of %s does worse with %s", r.OPA, change), true
}

// Write writes the report as text: a table, and then each finding. A finding
// that the change causes comes with its output.
func (r *Report) Write(w io.Writer) error {
	change, side := changeName(r.Upstream), "drop-in"
	if r.Upstream > 0 {
		side = "series"
	}
	t := text.NewTable(1, "package", "OPA: passed", "failed", "skipped", "broken", "seconds",
		side+": passed", "failed", "skipped", "broken", "seconds")
	row := func(name string, sides ...Side) {
		cells := []string{name}
		for _, s := range sides {
			cells = append(cells, text.Count(s.Passed), text.Count(s.Failed), text.Count(s.Skipped), text.Count(s.Broken), fmt.Sprintf("%.1f", s.Seconds))
		}
		t.Add(cells...)
	}
	var opa, ours Side
	for _, p := range r.Packages {
		row(p.Package, p.Unmodified, p.Changed)
		opa.add(p.Unmodified)
		ours.add(p.Changed)
	}
	row("all", opa, ours)
	t.Fit(math.MaxInt, 0)
	var b strings.Builder
	b.WriteString(strings.Join(t.Lines(), "\n") + "\n")
	for _, p := range r.Packages {
		for _, f := range p.Findings {
			name := p.Package
			if f.Test != "" {
				name += " " + f.Test
			}
			fmt.Fprintf(&b, "\n%s: %s\n", name, strings.ReplaceAll(kindText[f.Kind], "CHANGE", change))
			if f.Kind <= MissingChanged || f.Test == "" {
				b.WriteString(indent(f.Output))
			}
		}
		if len(p.LeftOut) > 0 {
			fmt.Fprintf(&b, "\n%s: not run with %s, which removes the code that they test:\n%s", p.Package, change, indent(strings.Join(p.LeftOut, " ")))
		}
	}
	if len(r.ChangedTests) > 0 {
		fmt.Fprintf(&b, "\nWith %s, these files of OPA's tests are as the fixes change them:\n%s", change, indent(strings.Join(r.ChangedTests, "\n")))
	}
	line, _ := r.verdict()
	fmt.Fprintf(&b, "\n%s\n", line)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Side) add(t Side) {
	s.Passed += t.Passed
	s.Failed += t.Failed
	s.Skipped += t.Skipped
	s.Broken += t.Broken
	s.Seconds += t.Seconds
}

func indent(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

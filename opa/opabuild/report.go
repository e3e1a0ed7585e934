// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A Report is the outcome of [Verify].
type Report struct {
	OPA      string // which one
	Packages []PackageReport
	// LeftOut names the tests in v1/metrics that leave with the files whose
	// unexported names they test.
	LeftOut []string
	Lint    *Lint // nil if v1/metrics was not asked for
}

// A PackageReport is the outcome for one package of OPA.
type PackageReport struct {
	Package            string // such as "v1/server"
	Unmodified, DropIn Side
	Findings           []Finding
}

// A Side is how a package's tests, subtests counted, ended on one side.
type Side struct {
	Passed, Failed, Skipped int
	Broken                  bool    // it does not compile, or was cut short
	Seconds                 float64 // without compiling
}

func (r *testRun) side() Side {
	return Side{
		Passed: r.count("pass"), Failed: r.count("fail"), Skipped: r.count("skip"),
		Broken: r.broken(), Seconds: r.seconds,
	}
}

func (s Side) String() string {
	text := fmt.Sprintf("%d passed, %d failed, %d skipped in %.1f s", s.Passed, s.Failed, s.Skipped, s.Seconds)
	if s.Broken {
		text += ", does not compile or was cut short"
	}
	return text
}

// A Kind says what is the matter with a test.
type Kind int

// The kinds of findings; the first two are the drop-in's fault.
const (
	FailsWithDropIn   Kind = iota // fails in both runs, and passes on the unmodified OPA
	MissingWithDropIn             // runs on the unmodified OPA alone, in both runs
	FailsOnOPA                    // fails on the unmodified OPA too, here at least
	FailsOnOPAOnly                // fails on the unmodified OPA, passes with the drop-in
	Flaky                         // did worse with the drop-in once, and not when both were run again
)

func (k Kind) String() string {
	switch k {
	case FailsWithDropIn:
		return "FAILS with the drop-in, passes on the unmodified OPA (both run twice)"
	case MissingWithDropIn:
		return "MISSING with the drop-in, runs on the unmodified OPA (both run twice)"
	case FailsOnOPA:
		return "fails on the unmodified OPA too, on this machine"
	case FailsOnOPAOnly:
		return "fails on the unmodified OPA, passes with the drop-in"
	}
	return "flaky: failed once with the drop-in, not when both were run again"
}

// A Finding is a test that did not pass on both sides.
type Finding struct {
	Test   string // "" is the package as a whole
	Kind   Kind
	Output string
}

// OK reports whether no test does worse with the drop-in, and OPA's linter
// finds nothing in it.
func (r *Report) OK() bool { return r.failures() == 0 && (r.Lint == nil || r.Lint.Findings == "") }

func (r *Report) failures() int {
	n := 0
	for _, p := range r.Packages {
		for _, f := range p.Findings {
			if f.Kind <= MissingWithDropIn {
				n++
			}
		}
	}
	return n
}

// Write writes the report as text: a table, then each finding, those that are
// the drop-in's fault with their output.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tpassed\tfailed\tskipped\tseconds\t| drop-in:\tpassed\tfailed\tskipped\tseconds\t\n", "package")
	row := func(name string, a, b Side) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f\t|\t%d\t%d\t%d\t%.1f\t\n", name,
			a.Passed, a.Failed, a.Skipped, a.Seconds, b.Passed, b.Failed, b.Skipped, b.Seconds)
	}
	var opa, ours Side
	for _, p := range r.Packages {
		row(p.Package, p.Unmodified, p.DropIn)
		opa.add(p.Unmodified)
		ours.add(p.DropIn)
	}
	row("all", opa, ours)
	if err := t.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range r.Packages {
		for _, f := range p.Findings {
			name := p.Package
			if f.Test != "" {
				name += " " + f.Test
			}
			fmt.Fprintf(&b, "\n%s: %s\n", name, f.Kind)
			if f.Kind <= MissingWithDropIn {
				b.WriteString(indent(f.Output))
			}
		}
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "\nNot run with the drop-in, since they test unexported names of a file that it replaces:\n%s", indent(strings.Join(r.LeftOut, " ")))
	}
	if l := r.Lint; l != nil {
		switch {
		case l.Skipped != "":
			fmt.Fprintf(&b, "\nOPA's linter was NOT RUN: %s\n", strings.TrimSpace(indent(l.Skipped)))
		case l.Findings != "":
			fmt.Fprintf(&b, "\nOPA's linter has FINDINGS in v1/metrics with the drop-in:\n%s", indent(l.Findings))
		default:
			b.WriteString("\nOPA's linter, with OPA's configuration, finds nothing in v1/metrics with the drop-in and its tests.\n")
		}
	}
	if n := r.failures(); n > 0 {
		fmt.Fprintf(&b, "\nFAIL: %d tests of %s do worse with the drop-in\n", n, r.OPA)
	} else if !r.OK() {
		fmt.Fprintf(&b, "\nFAIL: no test of %s does worse with the drop-in, but its linter finds something\n", r.OPA)
	} else {
		fmt.Fprintf(&b, "\nok: no test of %s does worse with the drop-in\n", r.OPA)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Side) add(t Side) {
	s.Passed += t.Passed
	s.Failed += t.Failed
	s.Skipped += t.Skipped
	s.Seconds += t.Seconds
}

func indent(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

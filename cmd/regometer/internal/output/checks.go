// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"encoding/xml"
	"io"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// Check is a rule or a threshold, and what was found. It is immutable.
type Check struct {
	Name   string
	Texts  []string // one for each thing that was found
	Failed bool     // what was found makes the pipeline fail
}

// WriteGitHub writes what was found as workflow commands of GitHub Actions:
// errors for failed checks, and notices for the others. The error is that of w.
//
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
func WriteGitHub(w io.Writer, checks []Check) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	b := bufio.NewWriter(w)
	for _, c := range checks {
		command := "notice"
		if c.Failed {
			command = "error"
		}
		for _, found := range c.Texts {
			b.WriteString("::" + command + " title=" + property.Replace("regometer "+c.Name) + "::" + data.Replace(text.Visible(found)) + "\n")
		}
	}
	return b.Flush()
}

// WriteJUnit writes the checks as JUnit's XML, one test case each. What was
// found by a check that has not failed is the output of its test case. The
// error is that of w.
func WriteJUnit(w io.Writer, suite string, checks []Check) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Class    string    `xml:"classname,attr"`
		Name     string    `xml:"name,attr"`
		Failures []failure `xml:"failure"`
		Output   string    `xml:"system-out,omitempty"`
	}
	type testSuite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	out := struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   testSuite
	}{Suite: testSuite{Name: suite, Tests: len(checks)}}
	for _, c := range checks {
		x := testCase{Class: suite, Name: c.Name}
		found := strings.Join(c.Texts, "\n")
		if c.Failed {
			out.Suite.Failures++
			x.Failures = []failure{{c.Name, found}}
		} else {
			x.Output = found
		}
		out.Suite.Cases = append(out.Suite.Cases, x)
	}
	document, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(xml.Header), append(document, '\n')...))
	return err
}

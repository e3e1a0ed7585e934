// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package page writes a report as a web page of one file, which needs neither
// a network nor scripts.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"os"

	"github.com/regometer/regometer/internal/app/report"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// policy forbids the page all but its own style sheet.
func policy() string {
	sum := sha256.Sum256([]byte(styleText))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// Write writes the page of a report, which has at most a few megabytes: of what
// there can be very much of, such as groups, it shows the first and says how
// many there are more. What comes from the logs is shown as text, and cut where
// it is long. Nothing is written if there is an error other than the writer's.
// The report is only read.
func Write(w io.Writer, r *report.Report) error {
	v, err := viewOf(r)
	if err != nil {
		return err
	}
	v.Policy, v.Style = policy(), template.CSS(styleText)
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// IsPage reports whether a file begins as what Write writes.
func IsPage(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<10)
	n, _ := io.ReadFull(f, head)
	return bytes.Contains(head[:n], []byte(`<meta name="generator" content="regometer report">`))
}

// atMost returns the first n elements, and how many there are more.
func atMost[T any](s []T, n int) (first []T, more int) {
	n = min(n, len(s))
	return s[:n], len(s) - n
}

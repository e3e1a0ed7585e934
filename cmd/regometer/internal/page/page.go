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
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// A style is a style sheet.
type style string

// Policy returns the policy that forbids the page everything except its own
// style sheet.
func (s style) Policy() string {
	sum := sha256.Sum256([]byte(s))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// Style returns the style sheet.
func (s style) Style() template.CSS { return template.CSS(s) }

// Write writes the page of a report. The page has at most a few megabytes: it
// shows the first elements of long lists, such as groups, and the number of the
// others. It shows text from the logs as text, and cuts long text. Write does
// not change the report. The error is that of w.
func Write(w io.Writer, r *report.Report) error { return write(w, "page", newView(r)) }

// write writes what a template makes of a view.
func write(w io.Writer, name string, view any) error {
	var b bytes.Buffer
	// It is parsed here, because most commands do not need it.
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"label": labelText,
		"fit":   func(s string) string { return text.Fit(s, findingLength) },
		// In sentences, names are between backticks: they are the odd parts.
		"parts":  func(s string) []string { return strings.Split(s, "`") },
		"isName": func(i int) bool { return i%2 == 1 },
	}).Parse(pageText))
	if err := page.ExecuteTemplate(&b, name, view); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// IsPage reports whether a file begins as a page of this package.
func IsPage(file string) bool {
	return strings.Contains(outfile.Head(file), `<meta name="generator" content="regometer `)
}

// atMost returns the first n elements, and the number of the others.
func atMost[T any](s []T, n int) (first []T, more int) {
	n = min(n, len(s))
	return s[:n], len(s) - n
}

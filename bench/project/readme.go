// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The table of figures in README.md stands between these lines.
const (
	tableBegin = "<!-- measured: two cases; written by make bench from docs/performance.md -->\n"
	tableEnd   = "<!-- measured: end -->\n"
)

// The two cases that README.md shows, as docs/performance.md calls them. The
// second case consists of two rows of another table.
const (
	requestRow = "A request: New, 4 timers, 1 counter; 1 goroutine"
	serverRow  = "An OPA server: `POST /v1/data/rbac/allow`"
)

// UpdateReadme writes the table in the README.md of the repository at root,
// from its docs/performance.md.
func UpdateReadme(root string) error {
	path := filepath.Join(root, "README.md")
	old, updated, err := readme(root)
	if err != nil || old == updated {
		return err
	}
	return os.WriteFile(path, []byte(updated), 0o666)
}

// readme returns the text of README.md as it is and as it is to be.
func readme(root string) (old, updated string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return "", "", err
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		return "", "", err
	}
	table, err := shortTable(string(page))
	if err != nil {
		return "", "", fmt.Errorf("docs/performance.md: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", "", fmt.Errorf("README.md lacks the lines around its table:\n%s%s", tableBegin, tableEnd)
	}
	return string(text), before + tableBegin + table + tableEnd + after, nil
}

// The rows of the page that serverRow is made of, and the heading above them.
const (
	serverHeading    = "### The server under load: `POST /v1/data/rbac/allow`"
	serverUnmodified = "unmodified OPA, nothing on"
	serverDropIn     = "with the drop-in, nothing on"
)

// shortTable returns the two cases with the case, OPA's figures, ours, and the
// ratio of the times.
func shortTable(page string) (string, error) {
	var request string
	var server [2][]string // the server's two rows
	heading := ""
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(line)
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 7 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch name := cells[1]; {
		case name == requestRow:
			request = strings.Join(cells[1:5], " | ")
		case heading == serverHeading && name == serverUnmodified:
			server[0] = cells
		case heading == serverHeading && name == serverDropIn:
			server[1] = cells
		}
	}
	if request == "" || server[0] == nil || server[1] == nil {
		return "", fmt.Errorf("the page lacks the row %q or the rows %q and %q below %q", requestRow, serverUnmodified, serverDropIn, serverHeading)
	}
	opa, _ := serverFigures(server[0])
	ours, ratio := serverFigures(server[1])
	return fmt.Sprintf("| case | OPA: time, bytes, allocs | Regometer: time, bytes, allocs | time |\n|---|---|---|---|\n| %s |\n| %s | %s | %s | %s |\n",
		request, serverRow, opa, ours, ratio), nil
}

// serverFigures returns a server's time, bytes and allocations, and the ratio
// of its time if it has one. In its row are allocations, bytes, processor time
// and time, each with its ratio behind a semicolon.
func serverFigures(cells []string) (figures, ratio string) {
	allocs, _, _ := strings.Cut(cells[2], ";")
	bytes, _, _ := strings.Cut(cells[3], ";")
	time, ratio, _ := strings.Cut(cells[5], "; ")
	return fmt.Sprintf("%s, %s, %s", time, bytes, allocs), ratio
}

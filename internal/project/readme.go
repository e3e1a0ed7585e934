// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The table in README.md stands between these lines.
const (
	tableBegin = "<!-- measured: begin; written by make bench from docs/performance.md -->\n"
	tableEnd   = "<!-- measured: end -->\n"
)

// The sections of docs/performance.md whose tables README.md shows.
var sections = []string{
	"### Cases with a target",
	"### A decision in a program that uses OPA as a library",
}

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
		return "", "", fmt.Errorf("README.md lacks the lines that the table stands between:\n%s%s", tableBegin, tableEnd)
	}
	return string(text), before + tableBegin + table + tableEnd + after, nil
}

// shortTable returns the first four columns (the case, OPA's figures, ours, the
// ratio of the times) of the tables in these sections of the page, and of those
// rows of its other tables in which Regometer is slower.
func shortTable(page string) (string, error) {
	var b strings.Builder
	b.WriteString("| case | OPA 1.22.0: time, bytes, allocs | Regometer: time, bytes, allocs | time |\n|---|---|---|---|\n")
	machine, heading, rows := "", "", map[string]int{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = line
			continue
		}
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "|") || len(cells) < 6 || strings.HasPrefix(line, "|---") {
			continue
		}
		if cells[1] == " metrics " && machine == "" { // date, machine, system, Go
			machine = fmt.Sprintf("Measured on %s, %s, %s, %s.", word(cells[2]), word(cells[3]), word(cells[4]), word(cells[5]))
			continue
		}
		named := heading == sections[0] || heading == sections[1]
		if strings.HasPrefix(cells[1], " case ") || !named && !strings.Contains(cells[4], "slower") {
			continue
		}
		rows[heading]++
		fmt.Fprintf(&b, "|%s|%s|%s|%s|\n", cells[1], cells[2], cells[3], cells[4])
	}
	for _, section := range sections {
		if rows[section] == 0 {
			return "", fmt.Errorf("no table found under %q", section)
		}
	}
	if machine == "" {
		return "", fmt.Errorf("the row of the figures %q is missing", "metrics")
	}
	return b.String() + "\n" + machine + "\n", nil
}

func word(cell string) string { return strings.TrimSpace(cell) }

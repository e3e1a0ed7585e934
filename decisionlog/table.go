// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
)

// A file of CSV may have the members of an event in columns, which its first
// line names. Each record is read as an object of its cells.

// table has the names of a table's columns.
type table struct {
	names []string
	comma rune
}

// tableOf returns the table whose columns a line names, or nil.
func tableOf(line []byte) *table {
	if bytes.IndexByte(line, '{') >= 0 {
		return nil
	}
	for _, comma := range ",;\t|" {
		t := &table{comma: comma}
		t.names = slices.Clone(t.cells(line))
		has := func(is func(name []byte) bool) bool {
			return slices.ContainsFunc(t.names, func(name string) bool { return is([]byte(name)) })
		}
		hasID := has(func(name []byte) bool { return fieldOf(name) == fieldDecisionID || outerOf(name) != nil })
		hasMetrics := has(func(name []byte) bool {
			head, _ := headOf(name)
			return fieldOf(name) == fieldMetrics || head >= 0 && heads[head].field == fieldMetrics
		})
		hasTarget := has(func(name []byte) bool { return fieldOf(name) == fieldPath || fieldOf(name) == fieldQuery })
		if len(t.names) > 1 && (hasID || hasMetrics && hasTarget) {
			return t
		}
	}
	return nil
}

// HasTable reports whether a text begins with the names of a table's columns.
// Then a reader must read it from its beginning.
func HasTable(text []byte) bool {
	text = text[skipBlank(text, 0):]
	line, _, _ := bytes.Cut(text, newline)
	return tableOf(line) != nil
}

// cells returns the cells of a record, or nil if it is none.
func (t *table) cells(record []byte) []string {
	r := csv.NewReader(bytes.NewReader(record))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = t.comma, true, -1
	cells, err := r.Read()
	if err != nil {
		return nil
	}
	return cells
}

// object returns the JSON object that the cells of a record stand for.
func (t *table) object(cells []string) []byte {
	object := []byte{'{'}
	for i, cell := range cells[:min(len(cells), len(t.names))] {
		field := fieldOf([]byte(t.names[i]))
		if yes := cell == "t"; field == fieldResult && (yes || cell == "f") { // Postgres
			cell = strconv.FormatBool(yes)
		}
		if cell != "" {
			object = append(append(appendText(object, t.names[i]), ':'), appendText(nil, cell)...)
			object = append(object, ',')
		}
	}
	return append(bytes.TrimSuffix(object, []byte{','}), '}')
}

// appendText appends the JSON string of a text. It keeps what is not UTF-8.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', '0'+c>>4, "0123456789abcdef"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// readRow reads the record of CSV at i.
func (s *source) readRow(text []byte, i int, end bool) (next int, ok bool) {
	rest := text[i:]
	rest = rest[:min(len(rest), s.reader.maxLength)]
	n, isOpen := s.scanner.pos, s.scanner.pos > 0
	for {
		eol := max(n, s.scanner.ahead)
		if at := bytes.IndexByte(rest[eol:], '\n'); at >= 0 {
			eol += at
		} else if eol = len(rest); !end && eol < s.reader.maxLength {
			s.scanner.ahead = eol
			return i, false
		}
		line := rest[n:eol]
		isOpen = isOpen != (bytes.Count(line, quote)%2 == 1)
		if n += len(line); !isOpen || s.unquoted > 0 {
			break
		}
		if n == len(rest) { // the quotation has no end
			kind := Truncated
			if !end {
				kind = TooLong
			}
			s.problem(kind, s.line())
			s.scanner.reset()
			s.unquoted, s.skips = len(rest), true
			return i, true
		}
		n++
		s.scanner.pos = n
	}
	s.scanner.reset()
	record := rest[:n]
	p, lines := &s.reader.parsers[s.index()], bytes.Count(record, newline)
	object := s.reader.table.object(s.reader.table.cells(record))
	p.checked = true
	p.parseMembers(object)
	object = appendNested(nil, object, p.present)
	p.parse(object)
	s.parsed(p, s.nesting, object)
	if lines > 0 {
		s.endLines(lines)
	}
	s.within, s.skips = true, true
	return i + n, true
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
)

// A file of CSV may have the members of an event in columns, which its first
// line names. Each record is read as an object of its cells.

// table has the names of a table's columns.
type table struct {
	names    [][]byte
	comma    byte
	outer    []byte // what is before the event's names
	noResult bool   // no column has the result, which so is unknown, not undefined
}

// anyTable stands for the table of a record in another text.
var anyTable = &table{comma: ','}

// nulls stand for a value that is missing.
var nulls = []string{"", "NULL", "null", `\N`, "None", "(null)", "(empty)", "-"}

// grouped matches a number with commas between its thousands.
var grouped = regexp.MustCompile(`^\d{1,3}(?:,\d{3})+$`)

// tableOf returns the table whose columns a line names, or nil.
func tableOf(line []byte) *table {
	if bytes.IndexByte(line, '{') >= 0 || !containsAny(line, names) {
		return nil
	}
	line = bytes.Clone(line)
	for _, comma := range []byte(",;\t|") {
		t := &table{comma: comma}
		t.names = t.cells(line)
		has := func(is func(name []byte) bool) bool { return slices.ContainsFunc(t.names, is) }
		hasID := has(func(name []byte) bool { return fieldOf(name) == fieldDecisionID || outerOf(name) != nil })
		hasMetrics := has(func(name []byte) bool {
			head, _ := headOf(name)
			return fieldOf(name) == fieldMetrics || head >= 0 && heads[head].field == fieldMetrics
		})
		hasTarget := has(func(name []byte) bool { return fieldOf(name) == fieldPath || fieldOf(name) == fieldQuery })
		if len(t.names) > 1 && (hasID || hasMetrics && hasTarget) {
			if at := slices.IndexFunc(t.names, func(name []byte) bool { return outerOf(name) != nil }); at >= 0 {
				t.outer = outerOf(t.names[at])
			}
			t.noResult = !has(func(name []byte) bool { return bytes.Contains(name, []byte("result")) })
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

// cutCell cuts the first cell off a record. In a quoted cell, quotes are doubled,
// and newlines are allowed. more reports whether another cell follows. ok is
// false if the cell is broken.
func cutCell(record []byte, comma byte) (cell, rest []byte, more, ok bool) {
	if !hasPrefix(record, `"`) {
		cell, rest, more = bytes.Cut(record, []byte{comma})
		return cell, rest, more, bytes.IndexByte(cell, '\n') < 0
	}
	rest = record[1:]
	for {
		before, after, found := bytes.Cut(rest, quote)
		if !found {
			return nil, nil, false, false
		}
		if rest = after; !hasPrefix(rest, `"`) {
			cell = append(cell, before...)
			break
		}
		cell, rest = append(append(cell, before...), '"'), rest[1:]
	}
	if len(rest) == 0 {
		return cell, nil, false, true
	}
	return cell, rest[1:], true, rest[0] == comma
}

// cells returns the cells of a record, or nil if the record is broken.
func (t *table) cells(record []byte) (cells [][]byte) {
	record = bytes.TrimSuffix(record, []byte{'\r'})
	for more := true; more; {
		var cell []byte
		var ok bool
		if cell, record, more, ok = cutCell(record, t.comma); !ok {
			return nil
		}
		cells = append(cells, cell)
	}
	return cells
}

// parse parses the object that the cells of a record stand for, and returns its
// text, or nil if the record is broken.
func (t *table) parse(p *parser, record []byte) []byte {
	cells, object := t.cells(record), []byte{'{'}
	if cells == nil {
		return nil
	}
	unknown := t.noResult
	for i, cell := range cells[:min(len(cells), len(t.names))] {
		name := t.names[i]
		if yes, err := strconv.ParseBool(string(cell)); err == nil && fieldOf(name) == fieldResult && !isDigit(cell[0]) { // t, True
			cell = strconv.AppendBool(nil, yes)
		}
		cell = structure(cell)
		isCut := (hasPrefix(cell, "{") || hasPrefix(cell, "[")) && !json.Valid(cell)
		unknown = unknown || isCut && bytes.HasSuffix(name, []byte("result"))
		if grouped.Match(cell) { // Kibana
			cell = bytes.ReplaceAll(cell, []byte{','}, nil)
		}
		if !slices.Contains(nulls, string(cell)) {
			object = append(appendText(append(appendText(object, name), ':'), cell), ',')
		}
	}
	if unknown && !bytes.Contains(object, []byte(`erased":`)) { // as if a mask policy had taken it out
		object = append(append(append(append(object, '"'), t.outer...), `erased":["/result"]`...), ',')
	}
	p.checked = true
	p.parseMembers(append(bytes.TrimSuffix(object, []byte{','}), '}'))
	object = p.appendNested(nil, p.json, p.present)
	p.parse(object)
	return object
}

// pair matches a member of a structure as Athena and DuckDB write it in a cell:
// {a=1, b=x} or {'a': 1, 'b': x}.
var pair = regexp.MustCompile(`'?([\w.-]+)'?(?:=|: )'?([^'",{}\[\]]*)'?(?:, |}$)`)

// structure returns the JSON object of a cell with a structure of plain values,
// and other cells as they are.
func structure(cell []byte) []byte {
	if !hasPrefix(cell, "{") || json.Valid(cell) {
		return cell
	}
	object, end := []byte{'{'}, 1
	for _, at := range pair.FindAllSubmatchIndex(cell, -1) {
		if at[0] != end {
			return cell
		}
		name, value := cell[at[2]:at[3]], cell[at[4]:at[5]]
		if end = at[1]; !isScalar(value) {
			value = appendText(nil, value)
		}
		object = append(append(appendText(object, name), ':'), append(value[:len(value):len(value)], ',')...)
	}
	if end < len(cell) {
		return cell
	}
	return append(bytes.TrimSuffix(object, []byte{','}), '}')
}

// parseCell parses an object of several lines in a cell of a record, and returns
// its text, or nil.
func parseCell(p *parser, record []byte) []byte {
	for _, cell := range anyTable.cells(record) {
		if p.checked = true; bytes.IndexByte(cell, '\n') >= 0 && isWhole(cell, '{') && p.parse(cell) == len(cell) {
			return cell
		}
	}
	return nil
}

// appendText appends the JSON string of a text. It keeps what is not UTF-8.
func appendText(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
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

// startsRow reports whether the last cell of a line is quoted, goes on in the next
// line, and begins with an object.
func startsRow(line []byte) bool {
	i, begin := -1, []byte(`"{`)
	for n := bytes.Index(line, begin); n >= 0; n = bytes.Index(line[i+1:], begin) { // bytes.LastIndex is slow
		i += n + 1
	}
	if i < 0 || i > 0 && line[i-1] != ',' {
		return false
	}
	behind := bytes.TrimLeft(line[i+2:], " \t\r")
	return (len(behind) == 0 || hasPrefix(behind, `""`)) && bytes.Count(behind, quote)%2 == 0
}

// readRow reads the record of CSV at i. It is of a table, or startsRow says that
// it goes on.
func (s *source) readRow(text []byte, i int, end bool) (next int, ok bool) {
	isTable := s.reader.table != nil && s.isFile()
	rest := text[i:]
	rest = rest[:min(len(rest), s.reader.maxLength)]
	n, isOpen := 0, false
	for {
		eol := lineEnd(rest, n)
		if eol == len(rest) && !s.isAll(rest, end) {
			return i, false
		}
		isOpen = isOpen != (bytes.Count(rest[n:eol], quote)%2 == 1)
		if n = eol; !isOpen || s.unquoted > 0 || n == len(rest) {
			break
		}
		n++
	}
	record, lines, p := rest[:n], bytes.Count(rest[:n], newline), &s.reader.finder.parsers[s.index()]
	mayHold := isTable || containsAny(record, names)
	var object []byte
	if isTable {
		if joined := tableOf(record); joined != nil { // another file begins
			s.reader.table = joined
			s.noteOther(record, 1)
			s.skips = true
			return i + n, true
		}
		object = s.reader.table.parse(p, record)
	} else if mayHold {
		object = parseCell(p, record)
	}
	switch {
	case object != nil:
		s.parsed(p, s.nesting, object, lines)
		i += n
	case lines == 0 || !isTable && mayHold:
		s.problem(InvalidJSON, s.line())
		s.unquoted = max(s.unquoted, n)
	default: // it is read again, line by line
		s.unquoted = max(s.unquoted, n)
		return i, true
	}
	s.skips = true
	return i, true
}

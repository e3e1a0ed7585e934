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
	isKnown  bool   // some are names of an event's members
	outer    []byte // what is before the event's names
	noResult bool   // no column has the result, which so is unknown, not undefined
	object   []byte // of the last record
}

// nulls stand for a value that is missing.
var nulls = []string{"", "NULL", "null", `\N`, "None", "(null)", "(empty)", "-"}

// grouped matches a number with commas between its thousands.
var grouped = regexp.MustCompile(`^\d{1,3}(?:,\d{3})+$`)

// tableOf returns the table whose columns a line names, or nil. Only rows tell
// whether names that are not known are a table's.
func tableOf(line []byte) *table {
	if bytes.IndexByte(line, '{') >= 0 || len(line) > 64<<10 {
		return nil
	}
	line = bytes.Clone(line)
	var found *table
	for _, comma := range []byte(",;\t|") {
		t := &table{comma: comma}
		t.names = t.cells(line)
		areNames := len(t.names) > 1 || len(t.names) == 1 && comma == ','
		var hasID, hasMetrics, hasTarget, hasResult bool
		for i, name := range t.names {
			if bytes.Equal(name, bytes.ToUpper(name)) { // Snowflake
				name = bytes.ToLower(name)
				t.names[i] = name
			}
			f, outer := fieldOf(name), outerOf(name)
			head, _ := headOf(name)
			if t.outer == nil {
				t.outer = outer
			}
			hasID = hasID || f == fieldDecisionID || outer != nil
			hasMetrics = hasMetrics || f == fieldMetrics || head >= 0 && heads[head].field == fieldMetrics
			hasTarget = hasTarget || f == fieldPath || f == fieldQuery
			hasResult = hasResult || bytes.Contains(name, []byte("result"))
			areNames = areNames && columnName.Match(name)
		}
		t.noResult = !hasResult
		if t.isKnown = len(t.names) > 1 && (hasID || hasMetrics && hasTarget); t.isKnown {
			return t
		}
		if found == nil && areNames {
			found = t
		}
	}
	return found
}

// columnName matches a name that a store may give to a column.
var columnName = regexp.MustCompile(`^[@_A-Za-z][\w.:@/-]*(?: \w+| \[UTC\])?$`)

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
	cell = make([]byte, 0, min(len(record), 1<<10))
	for i := 1; i < len(record); i++ {
		if record[i] == '"' {
			if i++; i == len(record) {
				return cell, nil, false, true
			} else if record[i] != '"' {
				return cell, record[i+1:], true, record[i] == comma
			}
		}
		cell = append(cell, record[i])
	}
	return nil, nil, false, false
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

// objectOf returns the object that the cells of a record stand for.
func (t *table) objectOf(p *parser, cells [][]byte) []byte {
	t.object = append(t.object[:0], '{')
	object, unknown := t.object, t.isKnown && t.noResult
	for i, cell := range cells[:min(len(cells), len(t.names))] {
		name := t.names[i]
		if t.isKnown {
			cell = plainValue(name, cell)
			isCut := (hasPrefix(cell, "{") || hasPrefix(cell, "[")) && !json.Valid(cell)
			unknown = unknown || isCut && bytes.HasSuffix(name, []byte("result"))
		}
		if !slices.Contains(nulls, string(cell)) {
			object = append(appendText(append(appendText(object, name), ':'), cell), ',')
		}
	}
	if unknown && !bytes.Contains(object, []byte(`erased":`)) { // as if a mask policy had taken it out
		object = append(append(append(append(object, '"'), t.outer...), `erased":["/result"]`...), ',')
	}
	object = append(bytes.TrimSuffix(object, []byte{','}), '}')
	t.object = object
	if p.checked = true; t.isKnown {
		p.parseMembers(object)
		object = p.appendNested(nil, object, p.present)
	}
	return object
}

// plainValue returns the value in a cell as OPA writes it.
func plainValue(name, cell []byte) []byte {
	if yes, err := strconv.ParseBool(string(cell)); err == nil && fieldOf(name) == fieldResult && !isDigit(cell[0]) { // t, True
		return strconv.AppendBool(nil, yes)
	}
	if grouped.Match(cell) { // Kibana
		return bytes.ReplaceAll(cell, []byte{','}, nil)
	}
	return structure(cell)
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

// appendText appends the JSON string of a text. It keeps what is not UTF-8.
func appendText(dst, text []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		if from = i + 1; c < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', '0'+c>>4, "0123456789abcdef"[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
	}
	return append(append(dst, text[from:]...), '"')
}

// readRow reads the record of a table at i.
func (s *source) readRow(text []byte, i int, end bool) (next int, ok bool) {
	t, rest := s.reader.table, text[i:]
	rest = rest[:min(len(rest), s.reader.maxLength)]
	n, isOpen := 0, false
	for len(t.names) > 1 || rest[0] == '"' {
		eol := lineEnd(rest, n)
		if eol == len(rest) && !s.isAll(rest, end) {
			return i, false
		}
		isOpen = isOpen != (bytes.Count(rest[n:eol], quote)%2 == 1)
		if n = eol; !isOpen || s.single > 0 || n == len(rest) {
			break
		}
		n++
	}
	record, p := rest[:n], &s.reader.finder.parsers[s.index()]
	cells := t.cells(record)
	var joined *table
	if t.isKnown && containsAny(record, names) {
		joined = tableOf(record)
	}
	switch {
	case joined != nil: // another file begins
		s.reader.table = joined
		s.noteOther(record, 1)
	case !t.isKnown && (n == 0 || len(cells) != len(t.names)):
		s.reader.table = nil // the first line was something else
		return i, true
	case i+n == len(text) && end && len(cells) < len(t.names) && bytes.IndexByte(record, '\n') < 0:
		s.problem(Truncated, s.line())
	case cells == nil:
		s.problem(InvalidJSON, s.line())
		s.single = max(s.single, n)
		s.skips = true
		return i, true
	default:
		taken := s.reader.finder.taken
		s.readMade(t.objectOf(p, cells), record)
		if t.isKnown && p.has(fieldDecisionID) && s.reader.finder.taken == taken {
			s.problem(UnknownForm, s.line())
		}
	}
	s.skips = true
	return i + n, true
}

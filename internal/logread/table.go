// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"unicode"
)

// A file of CSV may have the members of an event in columns, which its first
// line names. Each record is read as an object of its cells. A whole event in a
// cell needs no table.

// table has the names of a table's columns.
type table struct {
	names    [][]byte
	comma    byte
	outer    []byte // what is before the event's names
	path     int    // the path's column, or -1
	padded   bool   // blanks make columns of one width
	lacks    bool   // no column has the result, or none the error: a missing result is unknown, not undefined
	isBehind bool   // a prefix is before each line, and so in the first cell
}

// nulls stand for a value that is missing.
var nulls = []string{
	"", "NULL", "null", "<null>", "[NULL]", "(null)", `\N`, "nil", "None", "(none)", "NaN", "nan", "NA", "N/A", "#N/A", "undefined", "(empty)", "-",
}

// grouped matches a number with commas between its thousands.
var grouped = regexp.MustCompile(`^\d{1,3}(?:,\d{3})+$`)

// tableNames are parts of the names of columns, of which a table has one.
var tableNames = [][]byte{[]byte("decision_id"), []byte("metrics"), []byte("timer_"), []byte("counter_"), []byte("histogram_")}

// tableOf returns the table whose columns a line names, or nil. Some of the
// names must be those of an event's members.
func tableOf(line []byte) *table {
	if bytes.ContainsAny(line, "{[") || len(line) > 64<<10 || !containsAny(bytes.ToLower(line), tableNames) {
		return nil
	}
	for _, comma := range []byte(",;\t|") {
		isPadded := bytes.Contains(line, []byte{comma, ' '}) || bytes.Contains(line, []byte{' ', comma})
		t := &table{comma: comma, padded: isPadded}
		t.names, _ = cutCells(line, comma)
		var hasMetrics, hasTarget bool
		for i, name := range t.names {
			name = asWritten(bytes.TrimSpace(name))
			t.names[i] = name
			f, outer := fieldOf(name), outerOf(name)
			head, _ := headOf(name, false)
			if t.outer == nil {
				t.outer = outer
			}
			hasMetrics = hasMetrics || f == fieldMetrics || head == 0
			hasTarget = hasTarget || f == fieldPath || f == fieldQuery
		}
		t.path = slices.IndexFunc(t.names, func(name []byte) bool { return string(name) == string(t.outer)+"path" })
		all := bytes.Join(t.names, []byte{'\n'})
		t.lacks = !bytes.Contains(all, []byte("result")) || !bytes.Contains(all, []byte("error"))
		if len(t.names) > 1 && (bytes.Contains(all, names[0]) || hasMetrics && hasTarget) {
			at := bytes.LastIndexFunc(t.names[0], unicode.IsSpace) // which is behind a prefix
			t.isBehind = at >= 0 && fieldOf(t.names[0][at+1:]) < fieldData
			return t
		}
	}
	return nil
}

// HasTable reports whether a text begins with the names of a table's columns.
// Then a reader must read it from its beginning.
func HasTable(text []byte) bool {
	line, _, _ := bytes.Cut(text[skipBlank(text, 0):], []byte{'\n'})
	return tableOf(line) != nil
}

// cutCells returns the cells of the record that a text begins with, and the
// record's length.
func cutCells(text []byte, comma byte) (cells [][]byte, length int) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.LazyQuotes = rune(comma), true
	record, _ := r.Read() // it fails only if there is none
	for _, cell := range record {
		cells = append(cells, []byte(cell))
	}
	return cells, int(r.InputOffset())
}

// objectOf returns the object that the cells of a record stand for.
func (t *table) objectOf(p *parser, cells [][]byte) []byte {
	object, isCut, hasResult := []byte{'{'}, false, false
	cells = cells[:min(len(cells), len(t.names))]
	var null []byte // in another column than the path
	for i, cell := range cells {
		if i != t.path && slices.Contains(nulls, string(cell)) {
			null = cell
		}
	}
	for i, cell := range cells {
		name := t.names[i]
		if t.padded {
			cell = bytes.TrimSpace(cell)
		}
		isPath := i == t.path
		// A client may ask for a path NULL or None.
		isNull := slices.Contains(nulls, string(cell)) && (!isPath || null == nil || bytes.Equal(cell, null) || len(cell) == 0 || cell[0] < 'A')
		if isNull && isPath {
			object = appendMember(object, name, []byte("null"))
		} else if !isNull {
			cell = plainValue(name, cell)
			if bytes.Contains(name, []byte("result")) {
				hasResult, isCut = true, isCut || (hasPrefix(cell, "{") || hasPrefix(cell, "[")) && !json.Valid(cell)
			}
			object = append(appendText(append(appendText(object, name), ':'), cell), ',')
		}
	}
	if (isCut || t.lacks && !hasResult) && !bytes.Contains(object, []byte(`erased":`)) { // as if a mask policy had taken it out
		object = append(append(append(append(object, '"'), t.outer...), `erased":["/result"]`...), ',')
	}
	object = append(bytes.TrimSuffix(object, []byte{','}), '}')
	p.parseMembers(object)
	return p.appendNested(nil, object)
}

// plainValue returns the value in a cell as OPA writes it.
func plainValue(name, cell []byte) []byte {
	if yes, err := strconv.ParseBool(string(cell)); err == nil && bytes.Contains(name, []byte("result")) && !isDigit(cell[0]) { // t, True
		return strconv.AppendBool(nil, yes)
	}
	if grouped.Match(cell) { // Kibana
		return bytes.ReplaceAll(cell, []byte{','}, nil)
	}
	if hasPrefix(cell, "{") && !json.Valid(cell) {
		object := plainText.ReplaceAll(pair.ReplaceAll(cell, []byte(`"$1":"$2"`)), []byte(":$1"))
		if json.Valid(object) {
			return object
		}
	}
	return cell
}

// pair matches a member of a structure of plain values as Athena and DuckDB
// write it in a cell, {a=1, b=x} or {'a': 1, 'b': x}, and plainText its value in
// quotes if it needs none.
var (
	pair      = regexp.MustCompile(`'?([\w.-]+)'?(?:=|: )'?([^'",{}\[\]]*)'?`)
	plainText = regexp.MustCompile(`:"(true|false|null|0|[1-9]\d*)"`)
)

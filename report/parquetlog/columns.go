// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/regometer/regometer/rollup"
)

// The columns before those of the stages, by number. A map is two columns: its
// keys, and its values after them.
const (
	timeColumn = iota
	pathColumn
	outcomeColumn
	codeColumn
	idColumn
	revisionColumn
	requestedByColumn
	labelsColumn
	_
	firstStage
)

// layout is what columns the file has.
type layout struct {
	schema           *parquet.Schema
	stages           map[string]int // columns by the key of the timer
	timers, counters int
	columns          int
	texts            [][]string // the columns that are texts
}

var theLayout = newLayout()

func newLayout() *layout {
	l := &layout{stages: map[string]int{}}
	root := orderedGroup{Group: parquet.Group{}}
	add := func(name string, node parquet.Node) {
		root.Group[name] = node
		root.names = append(root.names, name)
	}
	number := parquet.Encoded(parquet.Int(64), &parquet.Plain)
	text := parquet.Encoded(parquet.String(), &parquet.Plain)
	repeated := parquet.Encoded(parquet.String(), &parquet.RLEDictionary)

	add("time", parquet.Optional(parquet.Timestamp(parquet.Microsecond)))
	add("path", repeated)
	add("outcome", repeated)
	add("error_code", parquet.Optional(repeated))
	add("decision_id", parquet.Optional(text))
	add("revision", parquet.Optional(repeated))
	add("requested_by", parquet.Optional(text))
	add("labels", parquet.Map(repeated, repeated))
	l.columns = firstStage
	for _, stage := range rollup.DefaultStages() {
		if strings.HasSuffix(stage.Name, "*") {
			continue
		}
		add(stage.Name+"_ns", parquet.Optional(number))
		l.stages["timer_"+stage.Name+"_ns"] = l.columns
		l.columns++
	}
	l.timers, l.counters = l.columns, l.columns+2
	l.columns += 4
	add("timers", parquet.Map(repeated, number))
	add("counters", parquet.Map(repeated, number))

	l.schema = parquet.NewSchema("decisions", root)
	for _, path := range l.schema.Columns() {
		if leaf, _ := l.schema.Lookup(path...); leaf.Node.Type().Kind() == parquet.ByteArray {
			l.texts = append(l.texts, path)
		}
	}
	return l
}

// isMap reports whether a column is one of a map.
func (l *layout) isMap(column int) bool {
	return column == labelsColumn || column == labelsColumn+1 || column >= l.timers
}

// orderedGroup is a group whose fields are not sorted by their names.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return cmp.Compare(slices.Index(g.names, a.Name()), slices.Index(g.names, b.Name()))
	})
	return fields
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/regometer/regometer/internal/stages"
)

// The numbers of the columns before the stages. A map has two columns: its keys
// and, after them, its values.
const (
	timeColumn = iota
	pathColumn
	outcomeColumn
	codeColumn
	idColumn
	traceColumn
	spanColumn
	requestColumn
	revisionColumn
	requestedByColumn
	bytesColumn
	groupsColumn
	labelsColumn
	_
	firstStage
)

// layout lists the columns of a file.
type layout struct {
	schema           *parquet.Schema
	stages           map[string]int // column numbers by the key of the timer
	timers, counters int            // column numbers
	columns          int            // the number of columns
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
	add("trace_id", parquet.Optional(text))
	add("span_id", parquet.Optional(text))
	add("req_id", parquet.Optional(number))
	add("revision", parquet.Optional(repeated))
	add("requested_by", parquet.Optional(text))
	add("event_bytes", parquet.Optional(number))
	add("groups", parquet.List(repeated))
	add("labels", parquet.Map(repeated, repeated))
	for _, stage := range stages.DefaultStages() {
		if strings.HasSuffix(stage.Name, "*") {
			continue
		}
		add(stage.Name+"_ns", parquet.Optional(number))
		l.stages["timer_"+stage.Name+"_ns"] = firstStage + len(l.stages)
	}
	add("timers", parquet.Map(repeated, number))
	add("counters", parquet.Map(repeated, number))
	l.timers = firstStage + len(l.stages)
	l.counters = l.timers + 2
	l.columns = l.counters + 2
	l.schema = parquet.NewSchema("decisions", root)
	return l
}

// orderedGroup is a group that keeps its fields in the order of names.
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

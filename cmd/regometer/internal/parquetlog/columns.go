// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/regometer/regometer/internal/stages"
)

// fixed describes the columns before those of stages.
type fixed struct {
	Time        int64             `parquet:"time,optional,timestamp(microsecond)"`
	Path        string            `parquet:"path,dict"`
	Outcome     string            `parquet:"outcome,dict"`
	Code        string            `parquet:"error_code,optional,dict"`
	DecisionID  string            `parquet:"decision_id,optional"`
	TraceID     string            `parquet:"trace_id,optional"`
	SpanID      string            `parquet:"span_id,optional"`
	RequestID   int64             `parquet:"req_id,optional"`
	Revision    string            `parquet:"revision,optional,dict"`
	RequestedBy string            `parquet:"requested_by,optional"`
	Bytes       int64             `parquet:"event_bytes,optional"`
	Groups      []string          `parquet:"groups,list" parquet-element:",dict"`
	Labels      map[string]string `parquet:"labels" parquet-key:",dict" parquet-value:",dict"`
	Timers      map[string]int64  `parquet:"timers" parquet-key:",dict"`
	Counters    map[string]int64  `parquet:"counters" parquet-key:",dict"`
}

// schema has the fixed columns, and then one for each stage. stageColumns are the
// places of the latter by the key of the timer.
var schema, stageColumns = func() (*parquet.Schema, map[string]int) {
	fields, places := reflect.VisibleFields(reflect.TypeFor[fixed]()), map[string]int{}
	for _, stage := range stages.DefaultStages() {
		if !strings.HasSuffix(stage.Name, "*") {
			places["timer_"+stage.Name+"_ns"] = len(places)
			fields = append(fields, reflect.StructField{
				Name: strings.ToUpper(stage.Name), Type: reflect.TypeFor[int64](),
				Tag: reflect.StructTag(`parquet:"` + stage.Name + `_ns,optional"`),
			})
		}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()), places
}()

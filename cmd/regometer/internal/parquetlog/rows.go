// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

const (
	// batchRows and batchBytes limit the rows that are collected before they
	// are encoded, and roughly the size of their texts and maps.
	batchRows  = 512
	batchBytes = 512 << 10

	maxText    = 16 << 10 // limits the bytes of a text
	maxEntries = 1024     // limits the entries of a map
	entryBytes = 16       // counts for an entry of a map, besides its texts
)

// Rows collects rows for a [Writer]. Only one goroutine may use it. A writer
// may have several of them.
type Rows struct {
	write func(rows []parquet.Row, bytes int) error
	key   func(metric int32) string
	rows  []parquet.Row // collected
	bytes int           // of their texts and maps

	// Of the row that is being added:
	row              parquet.Row
	column           int // the number of the next one
	stages           []parquet.Value
	labels           map[string]string
	timers, counters map[string]int64
}

// Add adds a decision, with keys of its groups. It returns an error if writing
// fails, or failed earlier.
func (r *Rows) Add(e *logread.Event, keys [][]byte) error {
	r.read(e)
	if len(r.rows) < cap(r.rows) {
		r.row = r.rows[:len(r.rows)+1][len(r.rows)][:0] // the memory of an earlier row
	} else {
		r.row = nil
	}
	r.column = 0
	r.number(time.Unix(0, e.Time).UnixMicro(), e.Time != logread.NoTime)
	r.put(0, r.text(e.Path))
	r.put(0, r.text([]byte(e.Outcome.String())))
	r.optional([]byte(e.Code))
	r.optional(e.DecisionID)
	r.optional(e.TraceID)
	r.optional(e.SpanID)
	r.number(int64(e.RequestID), e.RequestID > 0 && e.RequestID <= math.MaxInt64)
	r.optional(e.BundleRevisions())
	r.optional(e.RequestedBy)
	r.number(int64(len(e.Text)), len(e.Text) > 0)
	r.list(len(keys), func(i int) parquet.Value { return r.text(keys[i]) })
	putMap(r, r.labels, func(s string) parquet.Value { return r.text([]byte(s)) })
	putMap(r, r.timers, parquet.Int64Value)
	putMap(r, r.counters, parquet.Int64Value)
	for _, v := range r.stages {
		r.put(v.DefinitionLevel(), v)
	}
	r.rows = append(r.rows, r.row)
	if len(r.rows) < batchRows && r.bytes < batchBytes {
		return nil
	}
	return r.flush()
}

// read reads the maps and the stages of a decision.
func (r *Rows) read(e *logread.Event) {
	clear(r.labels)
	clear(r.timers)
	clear(r.counters)
	clear(r.stages)
	e.EachLabel(func(name, value []byte) {
		delete(r.labels, string(name))
		if value != nil && len(r.labels) < maxEntries {
			r.labels[string(text.Cut(name, maxText))] = string(value)
		}
	})
	for _, m := range e.Measures {
		key := r.key(m.Metric)
		if at, ok := stageColumns[key]; ok {
			r.stages[at] = parquet.Int64Value(m.Value).Level(0, 1, 0)
			continue
		}
		kind, name := stages.Split(key)
		to := r.counters
		if kind == stages.Timer {
			to = r.timers
		} else if kind != stages.Counter {
			continue
		}
		// Metrics that share a name are added up, but do not overflow.
		name = string(text.Cut([]byte(name), maxText))
		if before, ok := to[name]; ok || len(to) < maxEntries {
			to[name] = before + min(m.Value, math.MaxInt64-max(before, 0))
		}
	}
}

// flush hands the collected rows to the writer.
func (r *Rows) flush() error {
	err := r.write(r.rows, r.bytes)
	r.rows, r.bytes = r.rows[:0], 0
	return err
}

// put puts a value into the next column. level is 1 if the column may have nulls
// and has none.
func (r *Rows) put(level int, v parquet.Value) {
	r.row = append(r.row, v.Level(0, level, r.column))
	r.column++
}

// number puts a number, or null.
func (r *Rows) number(n int64, is bool) {
	if is {
		r.put(1, parquet.Int64Value(n))
	} else {
		r.put(0, parquet.NullValue())
	}
}

// optional puts a text, or null if it is empty.
func (r *Rows) optional(value []byte) {
	if len(value) > 0 {
		r.put(1, r.text(value))
	} else {
		r.put(0, parquet.NullValue())
	}
}

// list puts n values into the next column.
func (r *Rows) list(n int, value func(i int) parquet.Value) {
	if n == 0 {
		r.row = append(r.row, parquet.NullValue().Level(0, 0, r.column))
	}
	for i := range n {
		r.row = append(r.row, value(i).Level(min(i, 1), 1, r.column))
		r.bytes += entryBytes
	}
	r.column++
}

// putMap puts a map into the next two columns. Its keys are sorted, so the same
// decisions make the same file.
func putMap[V any](r *Rows, m map[string]V, value func(V) parquet.Value) {
	keys := slices.Sorted(maps.Keys(m))
	r.list(len(keys), func(i int) parquet.Value { return r.text([]byte(keys[i])) })
	r.list(len(keys), func(i int) parquet.Value { return value(m[keys[i]]) })
}

// text returns a copy of a text as a value.
func (r *Rows) text(value []byte) parquet.Value {
	cut := bytes.Clone(text.Cut(value, maxText))
	r.bytes += len(cut)
	return parquet.ByteArrayValue(cut)
}

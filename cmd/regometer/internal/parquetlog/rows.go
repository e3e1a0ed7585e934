// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"math"
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
	maxMetrics = 4096     // limits the metrics whose places are remembered
)

// Rows collects rows for a [Writer]. Only one goroutine may use it. A writer
// may have several of them.
type Rows struct {
	writer  *Writer
	key     func(metric int32) string
	metrics map[string]metric // by key

	columns                  [][]parquet.Value // the values of the collected rows
	n                        int               // the number of collected rows
	bytes                    int               // of their texts and maps
	labels, timers, counters entries           // of the row that is being added
}

// metric says where the values of a timer or counter go.
type metric struct {
	stage int      // the number of its column, or 0
	other *entries // its map, or nil
	name  string   // in the map
}

// Rows returns a collector of rows. key must return the key of the metric with
// a number, such as "timer_rego_query_eval_ns".
func (w *Writer) Rows(key func(metric int32) string) *Rows {
	r := &Rows{
		writer:   w,
		key:      key,
		metrics:  map[string]metric{},
		columns:  make([][]parquet.Value, theLayout.columns),
		labels:   newEntries(labelsColumn),
		timers:   newEntries(theLayout.timers),
		counters: newEntries(theLayout.counters),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collectors = append(w.collectors, r)
	return r
}

// Add adds a decision, with keys of its groups. It returns an error if writing
// fails, or failed earlier.
func (r *Rows) Add(e *logread.Event, keys [][]byte) error {
	if e.Time != logread.NoTime {
		r.set(timeColumn, 1, parquet.Int64Value(time.Unix(0, e.Time).UnixMicro()))
	}
	r.set(pathColumn, 0, r.text(e.Path))
	r.set(outcomeColumn, 0, r.text([]byte(e.Outcome.String())))
	r.setText(codeColumn, []byte(e.Code))
	r.setText(idColumn, e.DecisionID)
	r.setText(traceColumn, e.TraceID)
	r.setText(spanColumn, e.SpanID)
	if e.RequestID > 0 && e.RequestID <= math.MaxInt64 {
		r.set(requestColumn, 1, parquet.Int64Value(int64(e.RequestID)))
	}
	r.setText(revisionColumn, e.BundleRevisions())
	r.setText(requestedByColumn, e.RequestedBy)
	e.EachLabel(func(name, value []byte) {
		if v := r.labels.value(string(text.Cut(name, maxText))); v != nil {
			*v = parquet.NullValue()
			if value != nil {
				*v = r.text(value)
			}
		}
	})
	for _, m := range e.Measures {
		if to := r.metric(r.key(m.Metric)); to.stage > 0 {
			r.set(to.stage, 1, parquet.Int64Value(m.Value))
		} else if to.other != nil {
			// Metrics that share a name are added up, but do not overflow.
			if v := to.other.value(to.name); v != nil {
				*v = parquet.Int64Value(v.Int64() + min(m.Value, math.MaxInt64-max(v.Int64(), 0)))
			}
		}
	}
	if len(e.Text) > 0 {
		r.set(bytesColumn, 1, parquet.Int64Value(int64(len(e.Text))))
	}
	r.setList(groupsColumn, keys)
	r.endMap(&r.labels)
	r.endMap(&r.timers)
	r.endMap(&r.counters)
	if r.n++; r.n < batchRows && r.bytes < batchBytes {
		return nil
	}
	return r.flush()
}

// flush hands the collected rows to the writer.
func (r *Rows) flush() error {
	for c := range r.columns {
		r.fill(c, r.n)
	}
	err := r.writer.write(r)
	for c := range r.columns {
		r.columns[c] = r.columns[c][:0]
	}
	r.n, r.bytes = 0, 0
	return err
}

// fill fills a column with nulls up to n values.
func (r *Rows) fill(column, n int) {
	if values := r.columns[column]; len(values) < n {
		null := parquet.NullValue().Level(0, 0, column)
		for len(values) < n {
			values = append(values, null)
		}
		r.columns[column] = values
	}
}

// set sets a value of the row. level is 1 if the column may have nulls.
func (r *Rows) set(column, level int, v parquet.Value) {
	r.fill(column, r.n)
	r.columns[column] = append(r.columns[column][:r.n], v.Level(0, level, column))
}

// setText sets a text of the row, unless it is empty.
func (r *Rows) setText(column int, value []byte) {
	if len(value) > 0 {
		r.set(column, 1, r.text(value))
	}
}

// setList sets a list of texts of the row.
func (r *Rows) setList(column int, list [][]byte) {
	if len(list) == 0 {
		r.columns[column] = append(r.columns[column], parquet.NullValue().Level(0, 0, column))
	}
	for i, value := range list {
		r.columns[column] = append(r.columns[column], r.text(value).Level(min(i, 1), 1, column))
		r.bytes += entryBytes
	}
}

// text returns a copy of a text as a value.
func (r *Rows) text(value []byte) parquet.Value {
	cut := bytes.Clone(text.Cut(value, maxText))
	r.bytes += len(cut)
	return parquet.ByteArrayValue(cut)
}

// metric returns where the metric with this key goes.
func (r *Rows) metric(key string) metric {
	m, ok := r.metrics[key]
	if ok {
		return m
	}
	kind, name := stages.Split(key)
	m = metric{stage: theLayout.stages[key], name: string(text.Cut([]byte(name), maxText))}
	switch kind {
	case stages.Timer:
		m.other = &r.timers
	case stages.Counter:
		m.other = &r.counters
	}
	if len(r.metrics) == maxMetrics {
		clear(r.metrics)
	}
	r.metrics[key] = m
	return m
}

// entries holds a map of the row that is being added.
type entries struct {
	column int            // the number of the column of its keys
	at     map[string]int // indexes by name
	list   []entry
}

type entry struct {
	name  string
	value parquet.Value
}

func newEntries(column int) entries { return entries{column: column, at: map[string]int{}} }

// value returns the place for the value of a name, or nil if the map is full. A
// null there counts as no value.
func (m *entries) value(name string) *parquet.Value {
	i, ok := m.at[name]
	if !ok {
		i = len(m.list)
		if i == maxEntries {
			return nil
		}
		m.at[name] = i
		m.list = append(m.list, entry{name: name})
	}
	return &m.list[i].value
}

// endMap moves a map to its columns.
func (r *Rows) endMap(m *entries) {
	keys, values := r.columns[m.column], r.columns[m.column+1]
	n := 0
	for _, e := range m.list {
		if !e.value.IsNull() {
			keys = append(keys, parquet.ByteArrayValue([]byte(e.name)).Level(min(n, 1), 1, m.column))
			values = append(values, e.value.Level(min(n, 1), 1, m.column+1))
			r.bytes += len(e.name) + entryBytes
			n++
		}
	}
	if n == 0 {
		keys = append(keys, parquet.NullValue().Level(0, 0, m.column))
		values = append(values, parquet.NullValue().Level(0, 0, m.column+1))
	}
	r.columns[m.column], r.columns[m.column+1] = keys, values
	m.list = m.list[:0]
	if len(m.at) > 64 {
		m.at = map[string]int{} // because clear takes time for the largest size that the map had
	}
	clear(m.at)
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

const (
	// batchRows and batchBytes are how many rows are collected before they are
	// encoded, and about how large their texts and maps may be.
	batchRows  = 512
	batchBytes = 512 << 10

	maxText    = 16 << 10 // of a text, in bytes
	maxEntries = 1024     // of a map
)

// Rows collects rows for a [Writer]. It is for one goroutine; a writer may have
// several, for as many.
type Rows struct {
	writer *Writer
	key    func(metric int32) string

	columns [][]parquet.Value // the values of the rows that are collected
	filled  []bool            // which columns are not all null
	maps    [3]mapColumns     // of labels, timers and counters
	n       int               // how many rows are collected
	total   int64             // how many there were, up to the one being added
	bytes   int               // of texts and maps of those that are collected
	text    []byte            // what values point to

	metrics []*metric          // by number
	byKey   map[string]*metric // by key
	labels  labelCache
}

// mapColumns is where a map is, and how many entries the row that is being
// added has.
type mapColumns struct{ keys, entries int }

// The maps of Rows.
const (
	labelsMap = iota
	timersMap
	countersMap
)

// A metric is where the values of a timer or counter go.
type metric struct {
	key    string
	column int           // of the stage, or -1
	inMap  int           // else the map, or -1
	name   parquet.Value // in the map
	row    int64         // the last row that has it in the map
	at     int           // where its value is there
}

// entryBytes is about what an entry of a map takes when it is encoded.
const entryBytes = 16

// Rows returns something to collect rows with. key tells by what key the number
// of a measure is known, such as "timer_rego_query_eval_ns".
func (w *Writer) Rows(key func(metric int32) string) *Rows {
	r := &Rows{
		writer: w, key: key,
		columns: make([][]parquet.Value, theLayout.columns), filled: make([]bool, theLayout.columns),
		maps:  [3]mapColumns{{keys: labelsColumn}, {keys: theLayout.timers}, {keys: theLayout.counters}},
		byKey: map[string]*metric{},
	}
	for c := range r.columns {
		r.columns[c] = make([]parquet.Value, batchRows)
		r.clearColumn(c)
	}
	r.clear()
	w.add(r)
	return r
}

// Add adds a decision. An error is one of writing; it will come again.
func (r *Rows) Add(e *decisionlog.Event) error {
	r.total++
	if e.Time != rollup.NoTime {
		r.set(timeColumn, 1, parquet.Int64Value(microseconds(e.Time)))
	}
	r.set(pathColumn, 0, r.copied(e.Path))
	r.set(outcomeColumn, 0, r.copied([]byte(e.Outcome.String())))
	r.setText(codeColumn, []byte(e.Code))
	r.setText(idColumn, e.DecisionID)
	r.setText(revisionColumn, e.BundleRevisions())
	r.setText(requestedByColumn, e.RequestedBy)
	labels, size := r.labels.of(e)
	r.bytes += size
	for _, l := range labels {
		r.put(labelsMap, l.name, l.value)
	}
	for _, m := range e.Measures {
		r.measure(r.metric(m.Metric), m.Value)
	}
	for i := range r.maps {
		r.endMap(&r.maps[i])
	}
	if r.n++; r.n < batchRows && r.bytes < batchBytes {
		return nil
	}
	return r.flush()
}

// flush hands the rows that are collected to the writer.
func (r *Rows) flush() error {
	if r.n == 0 {
		return nil
	}
	defer r.clear()
	return r.writer.write(r)
}

// clear begins anew, with columns that are null and maps that are nothing yet.
func (r *Rows) clear() {
	for c, filled := range r.filled {
		if filled {
			r.clearColumn(c)
		}
	}
	for _, m := range r.maps {
		r.columns[m.keys], r.columns[m.keys+1] = r.columns[m.keys][:0], r.columns[m.keys+1][:0]
	}
	if cap(r.text) > 2*batchBytes {
		r.text = nil
	}
	r.n, r.bytes, r.text = 0, 0, r.text[:0]
}

func (r *Rows) clearColumn(c int) {
	null := parquet.Value{}.Level(0, 0, c)
	for i := range r.columns[c] {
		r.columns[c][i] = null
	}
	r.filled[c] = false
}

// set sets a value of the row. level is 1 if the column may have nulls.
func (r *Rows) set(column, level int, v parquet.Value) {
	r.columns[column][r.n] = v.Level(0, level, column)
	r.filled[column] = true
}

// setText sets a text, which stays null if it is empty.
func (r *Rows) setText(column int, text []byte) {
	if len(text) > 0 {
		r.set(column, 1, r.copied(text))
	}
}

// copied returns a text as a value.
func (r *Rows) copied(text []byte) parquet.Value {
	from := len(r.text)
	r.text = append(r.text, limited(text)...) // older values keep what was there
	r.bytes += len(r.text) - from
	return parquet.ByteArrayValue(r.text[from:len(r.text):len(r.text)])
}

// limited returns a text that is UTF-8 and not too long.
func limited(text []byte) []byte {
	if len(text) > maxText {
		text = text[:maxText]
		for i := 1; i < utf8.UTFMax; i++ { // a character that was cut
			if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					text = text[:len(text)-i]
				}
				break
			}
		}
	}
	if !utf8.Valid(text) {
		return []byte(strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	return text
}

// put adds an entry to a map, unless it has too many.
func (r *Rows) put(inMap int, name, value parquet.Value) (ok bool) {
	m := &r.maps[inMap]
	if m.entries == maxEntries {
		return false
	}
	repeats := min(m.entries, 1)
	m.entries++
	r.columns[m.keys] = append(r.columns[m.keys], name.Level(repeats, 1, m.keys))
	r.columns[m.keys+1] = append(r.columns[m.keys+1], value.Level(repeats, 1, m.keys+1))
	r.bytes += entryBytes
	return true
}

// endMap ends the map of a row.
func (r *Rows) endMap(m *mapColumns) {
	if m.entries == 0 {
		r.columns[m.keys] = append(r.columns[m.keys], parquet.Value{}.Level(0, 0, m.keys))
		r.columns[m.keys+1] = append(r.columns[m.keys+1], parquet.Value{}.Level(0, 0, m.keys+1))
	}
	m.entries = 0
}

// measure adds a timer or counter.
func (r *Rows) measure(m *metric, value int64) {
	switch {
	case m.column >= 0:
		r.set(m.column, 1, parquet.Int64Value(value))
	case m.inMap < 0:
	case m.row == r.total:
		// Metrics that have no name of their own go by one.
		values := r.columns[r.maps[m.inMap].keys+1]
		v := &values[m.at]
		*v = parquet.Int64Value(sum(v.Int64(), value)).Level(v.RepetitionLevel(), 1, v.Column())
	default:
		m.at = len(r.columns[r.maps[m.inMap].keys+1])
		if r.put(m.inMap, m.name, parquet.Int64Value(value)) {
			m.row = r.total
		}
	}
}

// sum adds what is not negative, up to the most there is.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// metric returns where the metric of a number goes.
func (r *Rows) metric(number int32) *metric {
	key := r.key(number)
	if int(number) < len(r.metrics) && r.metrics[number] != nil && r.metrics[number].key == key {
		return r.metrics[number]
	}
	m := r.byKey[key]
	if m == nil {
		m = newMetric(key)
		r.byKey[key] = m
	}
	for int(number) >= len(r.metrics) {
		r.metrics = append(r.metrics, nil)
	}
	r.metrics[number] = m
	return m
}

func newMetric(key string) *metric {
	m := &metric{key: key, column: -1, inMap: -1}
	if column, ok := theLayout.stages[key]; ok {
		m.column = column
		return m
	}
	timer, isTimer := strings.CutPrefix(key, "timer_")
	timer, isTime := strings.CutSuffix(timer, "_ns")
	counter, isCounter := strings.CutPrefix(key, "counter_")
	name := timer
	switch {
	case isTimer && isTime:
		m.inMap = timersMap
	case isCounter:
		m.inMap, name = countersMap, counter
	}
	m.name = parquet.ByteArrayValue(limited([]byte(name)))
	return m
}

// microseconds rounds nanoseconds down.
func microseconds(ns int64) int64 {
	us := ns / 1000
	if ns%1000 < 0 {
		us--
	}
	return us
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package parquetlog writes the decisions of a log as a Parquet file with a row
// for each decision. DuckDB, Spark, Trino, ClickHouse and others read it.
//
// It has these columns. A value that a decision lacks is null.
//
//   - time: a timestamp in µs, UTC, rounded down;
//   - path and outcome: texts as in a report, never null;
//   - error_code, decision_id, trace_id, span_id, revision, requested_by:
//     texts; the revision covers all bundles: see
//     [logread.Event.BundleRevisions];
//   - req_id, event_bytes: an int64; the latter is the size of the JSON;
//   - groups: a list of texts, the keys of [Rows.Add];
//   - labels: a map of texts;
//   - a column for each stage of [stages.DefaultStages], except families of
//     stages: its name and _ns, an int64 in ns; 0 is an unfinished timer;
//   - timers: a map of all other timers in ns, named like stages;
//   - counters: a map of all counters.
//
// The file leaves out the input and the result of a decision, except for values
// among the keys. The package cuts a text after 16 KiB, and keeps at most 1,024
// labels, timers and counters of a decision.
//
// The rows are in no order. A row group has at most about 131,072 rows, and
// about 16 MiB of texts and maps. The file records the smallest and the largest
// value of each column in each row group and page.
//
// A [Writer] needs about 30 MB of memory, and up to 150 MB with extreme texts.
// It also keeps about 110 KB for each row group until the end.
package parquetlog

import (
	"io"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// groupRows and groupBytes limit the rows of a row group, and roughly the
	// size of their texts and maps.
	groupRows  = 128 << 10
	groupBytes = 16 << 20

	pageBytes  = 64 << 10 // limits the uncompressed size of a column's page
	chunkBytes = 32 << 10 // the unit of memory for pages; most columns need little
)

// pages holds the memory of pages until their row group is full.
var pages = parquet.NewChunkBufferPool(chunkBytes)

// codec compresses pages. Its fastest level takes a tenth of the time of the
// default.
var codec = &zstd.Codec{Level: zstd.SpeedFastest}

// Writer writes a Parquet file.
type Writer struct {
	groupRows int

	mu         sync.Mutex // protects the fields below
	file       *parquet.GenericWriter[any]
	collectors []*Rows
	rows       int   // of the current row group
	bytes      int   // of the texts and maps of these rows
	err        error // the first one
}

// NewWriter returns a writer to w. It writes nothing before the first row group
// is full, or Close.
func NewWriter(w io.Writer) *Writer {
	return &Writer{
		groupRows: groupRows,
		file: parquet.NewGenericWriter[any](w, schema, &parquet.WriterConfig{
			CreatedBy:         "regometer",
			ColumnPageBuffers: pages,
			PageBufferSize:    pageBytes,
			Compression:       codec,
		}),
	}
}

// Rows returns a collector of rows. key must return the key of the metric with
// a number, such as "timer_rego_query_eval_ns".
func (w *Writer) Rows(key func(metric int32) string) *Rows {
	r := &Rows{
		write: w.write, key: key, stages: make([]parquet.Value, len(stageColumns)),
		labels: map[string]string{}, timers: map[string]int64{}, counters: map[string]int64{},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collectors = append(w.collectors, r)
	return r
}

// write writes rows, whose texts and maps have so many bytes.
func (w *Writer) write(rows []parquet.Row, bytes int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.file.WriteRows(rows)
	}
	w.rows += len(rows)
	w.bytes += bytes
	if w.err == nil && (w.rows >= w.groupRows || w.bytes >= groupBytes) {
		w.rows, w.bytes = 0, 0
		w.err = w.file.Flush()
	}
	return w.err
}

// Close writes the remaining rows and the end of the file. It does not close
// the underlying writer. Add must not be called at the same time or later.
func (w *Writer) Close() error {
	for _, r := range w.collectors {
		if err := r.flush(); err != nil {
			return err
		}
	}
	return w.file.Close()
}

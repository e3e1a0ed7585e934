// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

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
	chunkBytes = 32 << 10 // is the unit of memory for pages; most columns need little
)

// pages holds the memory of pages until their row group is full.
var pages = parquet.NewChunkBufferPool(chunkBytes)

// codec compresses pages. Its fastest level takes a tenth of the time of the
// default.
var codec = &zstd.Codec{Level: zstd.SpeedFastest}

// Writer writes a Parquet file.
type Writer struct {
	groupRows int

	mu         sync.Mutex // protects all that follows
	file       *parquet.GenericWriter[any]
	collectors []*Rows
	rows       int   // of the current row group
	bytes      int   // of the texts and maps of these
	err        error // the first one
}

// NewWriter returns a writer to w. It writes nothing before the first row group
// is full, or Close.
func NewWriter(w io.Writer) *Writer {
	return &Writer{
		groupRows: groupRows,
		file: parquet.NewGenericWriter[any](w, theLayout.schema, &parquet.WriterConfig{
			CreatedBy:         "regometer",
			ColumnPageBuffers: pages,
			PageBufferSize:    pageBytes,
			Compression:       codec,
		}),
	}
}

// write writes the collected rows.
func (w *Writer) write(r *Rows) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.encode(r)
	}
	return w.err
}

func (w *Writer) encode(r *Rows) error {
	for c, column := range w.file.ColumnWriters() {
		if _, err := column.WriteRowValues(r.columns[c]); err != nil {
			return err
		}
	}
	w.rows += r.n
	w.bytes += r.bytes
	if w.rows < w.groupRows && w.bytes < groupBytes {
		return nil
	}
	w.rows, w.bytes = 0, 0
	return w.file.Flush()
}

// Close writes the remaining rows and the end of the file. It does not close
// the underlying writer. No call of Add may run at the same time or later.
func (w *Writer) Close() error {
	for _, r := range w.collectors {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if w.err != nil {
		return w.err
	}
	return w.file.Close()
}

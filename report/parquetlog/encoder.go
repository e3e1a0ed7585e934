// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// groupRows and groupBytes are how many rows are a row group, and about how
	// large their texts and maps may be.
	groupRows  = 128 << 10
	groupBytes = 8 << 20

	pageBytes  = 64 << 10 // of a column, uncompressed
	chunkBytes = 32 << 10 // of memory for pages, of which most columns need little
)

// pages has the memory of pages that wait for their row group to be full.
var pages = parquet.NewChunkBufferPool(chunkBytes)

// codec compresses pages: at its fastest, which takes a tenth of the time.
var codec = &zstd.Codec{Level: zstd.SpeedFastest}

// encoder makes row groups, one after the other, each as a file of its own. Of
// these only the row group is kept.
type encoder struct {
	file  *parquet.GenericWriter[any]
	to    func([]byte) error // nil: nothing is kept
	rows  int
	bytes int
}

func newEncoder() *encoder {
	e := &encoder{}
	e.file = parquet.NewGenericWriter[any](e, theLayout.schema, &parquet.WriterConfig{
		CreatedBy:            "regometer",
		ColumnPageBuffers:    pages,
		ColumnIndexSizeLimit: parquet.DefaultColumnIndexSizeLimit,
		PageBufferSize:       pageBytes,
		DataPageVersion:      2,
		MaxRowsPerRowGroup:   parquet.DefaultMaxRowsPerRowGroup,
		Compression:          codec,
		SkipPageBounds:       theLayout.texts,
	}, parquet.WriteBufferSize(0))
	return e
}

// encode encodes rows.
func (e *encoder) encode(r *Rows) error {
	for c, column := range e.file.ColumnWriters() {
		values := r.columns[c]
		if !theLayout.isMap(c) {
			values = values[:r.n]
		}
		if _, err := column.WriteRowValues(values); err != nil {
			return err
		}
	}
	e.rows += r.n
	e.bytes += r.bytes
	return nil
}

// flush does all of finish that needs not wait for others.
func (e *encoder) flush() error {
	for _, column := range e.file.ColumnWriters() {
		if err := column.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the row group by to, which writes at the offset at of a file,
// and returns where it is. Then the encoder begins anew.
func (e *encoder) finish(at int64, to func([]byte) error) (group format.RowGroup, err error) {
	skipped := 0
	e.to = func(text []byte) error {
		if n := min(len(magic)-skipped, len(text)); n > 0 { // begins the encoder's file
			skipped += n
			text = text[n:]
		}
		return to(text)
	}
	if err := e.file.Flush(); err != nil {
		return group, err
	}
	e.to = nil
	footer, err := e.metadata()
	if err != nil {
		return group, err
	}
	group = footer.RowGroups[0]
	move(&group, at-int64(len(magic)))
	e.rows, e.bytes = 0, 0
	e.file.Reset(e)
	return group, nil
}

// move makes a row group be so many bytes further on.
func move(group *format.RowGroup, by int64) {
	group.FileOffset += by
	for i := range group.Columns {
		c := &group.Columns[i]
		c.ColumnIndexOffset, c.ColumnIndexLength = 0, 0
		c.OffsetIndexOffset, c.OffsetIndexLength = 0, 0
		c.MetaData.DataPageOffset += by
		if c.MetaData.DictionaryPageOffset > 0 {
			c.MetaData.DictionaryPageOffset += by
		}
	}
}

// metadata ends the encoder's file and returns its metadata.
func (e *encoder) metadata() (*format.FileMetaData, error) {
	if err := e.file.Close(); err != nil {
		return nil, err
	}
	return e.file.File().Metadata(), nil
}

// Write is called by the library's writer.
func (e *encoder) Write(text []byte) (int, error) {
	if e.to == nil {
		return len(text), nil
	}
	if err := e.to(text); err != nil {
		return 0, err
	}
	return len(text), nil
}

var _ io.Writer = (*encoder)(nil)

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const magic = "PAR1" // begins and ends a file

// maxEncoders bounds the memory: each has a row group in it.
const maxEncoders = 2

// Writer writes a Parquet file.
//
// Row groups are made by a few encoders at once, each a writer of the library,
// which would make one after the other. Only their row groups go into the file,
// where they are told anew where they are.
type Writer struct {
	room      chan struct{} // for encoders in use
	groupRows int

	mu     sync.Mutex // protects what follows, and what is written
	rows   []*Rows
	idle   []*encoder
	out    *bufio.Writer
	offset int64 // bytes written
	groups []format.RowGroup
	err    error // the first one
}

// NewWriter returns a writer to w. Nothing is written before the first row
// group is full, or Close.
func NewWriter(w io.Writer) *Writer {
	return &Writer{
		room:      make(chan struct{}, min(runtime.GOMAXPROCS(0), maxEncoders)),
		groupRows: groupRows,
		out:       bufio.NewWriterSize(w, 64<<10),
	}
}

func (w *Writer) add(r *Rows) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = append(w.rows, r)
}

// write writes the rows that were collected. It waits while all encoders are in
// use.
func (w *Writer) write(r *Rows) error {
	w.room <- struct{}{}
	defer func() { <-w.room }()
	e, err := w.encoder()
	if err != nil {
		return err
	}
	if err = e.encode(r); err == nil && (e.rows >= w.groupRows || e.bytes >= groupBytes) {
		err = w.finish(e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return w.fail(err)
	}
	w.idle = append(w.idle, e)
	return nil
}

// encoder returns an encoder that is not in use: that which was last, so that
// no more are begun than are needed.
func (w *Writer) encoder() (*encoder, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.idle)
	if n == 0 {
		return newEncoder(), w.err
	}
	e := w.idle[n-1]
	w.idle = w.idle[:n-1]
	return e, w.err
}

// fail keeps the first error.
func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return w.err
}

// finish writes the row group of an encoder.
func (w *Writer) finish(e *encoder) error {
	if err := e.flush(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.groups) > math.MaxInt16:
		return errors.New("parquet: too many decisions for one file: choose fewer by their time or path")
	case len(w.groups) == 0:
		if err := w.append([]byte(magic)); err != nil {
			return err
		}
	}
	group, err := e.finish(w.offset, w.append)
	if err != nil {
		return err
	}
	group.Ordinal = int16(len(w.groups))
	w.groups = append(w.groups, group)
	return nil
}

func (w *Writer) append(text []byte) error {
	n, err := w.out.Write(text)
	w.offset += int64(n)
	return err
}

// Close writes the rows that are left and the end of the file. Nothing may be
// added at the same time or later. It does not close what it writes to.
func (w *Writer) Close() error {
	for _, r := range w.rows {
		if err := r.flush(); err != nil {
			return err
		}
	}
	for _, e := range w.idle {
		if e.rows == 0 {
			continue
		}
		if err := w.finish(e); err != nil {
			return w.fail(err)
		}
	}
	if w.err != nil {
		return w.err
	}
	return w.fail(w.writeFooter())
}

// writeFooter writes what is in the file, and where.
func (w *Writer) writeFooter() error {
	footer, err := newEncoder().metadata()
	if err != nil {
		return err
	}
	if len(w.groups) == 0 {
		if err := w.append([]byte(magic)); err != nil {
			return err
		}
	}
	footer.RowGroups = w.groups
	for i := range w.groups {
		footer.NumRows += w.groups[i].NumRows
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), footer)
	if err != nil {
		return err
	}
	text = binary.LittleEndian.AppendUint32(text, uint32(len(text)))
	if err := w.append(append(text, magic...)); err != nil {
		return err
	}
	return w.out.Flush()
}

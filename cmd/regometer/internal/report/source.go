// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"compress/bzip2"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"golang.org/x/text/encoding/unicode"

	"github.com/regometer/regometer/internal/logread"
)

// maxWindow limits the memory of a decompressor, in bytes. It is the window of
// zstd --long=27.
const maxWindow = 128 << 20

// blockSize is the size of the text that is read at a time. A processor keeps so
// much near, beside what a worker has of the decisions.
const blockSize = 1 << 18

// A layer reads a file, or a member of an archive. Its buffers are used again,
// because small files are many.
type layer struct {
	raw, text *bufio.Reader // as in the file, and decompressed
	gzip      gzip.Reader
}

func newLayer() *layer {
	return &layer{raw: bufio.NewReaderSize(nil, 1<<18), text: bufio.NewReaderSize(nil, 1<<15)}
}

// open returns the text of a file and its format, which is that of an archive
// or "". If the file is compressed and mayWait is false,
// another goroutine decompresses it, some blocks ahead. The caller must call
// done before it uses the layer again.
func (l *layer) open(ctx context.Context, from io.Reader, mayWait bool) (text *bufio.Reader, f format, done func(), err error) {
	l.raw.Reset(from)
	text, done = l.raw, func() {}
	if f, err = peekFormat(text); err != nil {
		return nil, "", done, err
	}
	if r, release, err := l.decompressor(f); err != nil {
		return nil, "", done, err
	} else if r != nil {
		done = release
		if !mayWait {
			r, done = readAhead(ctx, filled{r}, release)
		}
		text = l.text
		text.Reset(r)
		if f, err = peekFormat(text); err != nil {
			return nil, "", done, err
		}
	}
	switch f {
	case "", formatTar:
	case formatUTF16:
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		text, f = bufio.NewReader(decoder.Reader(text)), ""
	default:
		if err = (problemError{nested}); text == l.raw {
			err = problemError{refused + logread.Problem(f)}
		}
	}
	return text, f, done, err
}

// decompressor returns a reader that decompresses l.raw, or nil if the format
// is not that of a compressed file.
func (l *layer) decompressor(f format) (r io.Reader, release func(), err error) {
	release = func() {}
	switch f {
	case formatGzip:
		if l.gzip.Reset(l.raw) != nil {
			return nil, release, problemError{Damaged}
		}
		r = checked{&l.gzip}
	case formatZstd:
		// More goroutines would need too much memory.
		d, err := zstd.NewReader(l.raw, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(maxWindow))
		return checked{d}, d.Close, err
	case formatBzip2:
		r = checked{bzip2.NewReader(l.raw)}
	case formatLZ4:
		r = checked{lz4.NewReader(l.raw)}
	}
	return r, release, nil
}

// readAhead reads from r in another goroutine, a block ahead, until the end, an
// error, or the end of ctx, and then calls done. Reading the text does not wait
// for r any longer once ctx has ended. stop ends the goroutine, and waits until
// it no longer uses r.
func readAhead(ctx context.Context, r io.Reader, done func()) (text io.Reader, stop func()) {
	from, to := io.Pipe()
	ended := make(chan struct{})
	unblock := context.AfterFunc(ctx, func() { to.CloseWithError(ctx.Err()) })
	go func() {
		defer close(ended)
		defer done()
		defer unblock()
		_, err := io.CopyBuffer(to, r, make([]byte, blockSize))
		to.CloseWithError(err)
	}()
	return from, func() {
		from.Close()
		<-ended
	}
}

// filled fills the buffers that it reads into. gzip returns at most 32 KB, and
// handing them to another goroutine takes as long as decompressing them.
type filled struct{ io.Reader }

func (f filled) Read(p []byte) (int, error) {
	n, err := io.ReadFull(f.Reader, p)
	if errors.Is(err, io.ErrUnexpectedEOF) { // the end, since checked has turned all other errors into problems
		err = io.EOF
	}
	return n, err
}

// checked is the text of a compressed file or of a member. If it cannot be
// read, the error is Damaged, or that of the window.
type checked struct{ io.Reader }

func (c checked) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, problemError{Shortened}):
		return n, err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return n, problemError{refused + "window"}
	}
	return n, problemError{Damaged}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

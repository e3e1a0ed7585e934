// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The first bytes of compressed files: RFC 1952, RFC 8878.
var (
	gzipMagic = []byte{0x1f, 0x8b, 0x08}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// isCompressed reports whether a file with this beginning is compressed.
func isCompressed(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic)
}

// decompressed returns the text of r. If the content is a gzip or zstd file,
// another goroutine decompresses it, some blocks ahead, until the end, an
// error, or the end of ctx.
func decompressed(ctx context.Context, r io.Reader) (text io.Reader, err error) {
	buffered := bufio.NewReaderSize(r, 1<<18)
	head, err := buffered.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return readAhead(ctx, filled{&gzipText{from: buffered}}, func() {}), nil
	case bytes.HasPrefix(head, zstdMagic):
		// More goroutines would need too much memory.
		d, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, err
		}
		return readAhead(ctx, zstdText{d}, d.Close), nil
	}
	return buffered, nil
}

// ahead reads in a goroutine of its own.
type ahead struct {
	ctx   context.Context // of the reader
	full  chan block
	empty chan []byte
	now   block // the block that is being read
	rest  []byte
}

// A block is text that was read, with an error if it is the last block.
type block struct {
	text []byte
	err  error
}

// readAhead reads from r until the end, an error, or the end of ctx, and then
// calls done. Reading the result does not wait for r any longer once ctx has
// ended.
func readAhead(ctx context.Context, r io.Reader, done func()) io.Reader {
	const blocks, size = 3, 1 << 19
	a := &ahead{ctx: ctx, full: make(chan block, blocks), empty: make(chan []byte, blocks)}
	for range blocks {
		a.empty <- make([]byte, size)
	}
	go func() {
		defer close(a.full) // it has room for all blocks, so sending never waits
		defer done()
		for {
			select {
			case <-ctx.Done():
				a.full <- block{err: ctx.Err()}
				return
			case buf := <-a.empty:
				n, err := r.Read(buf)
				a.full <- block{buf[:n], err}
				if err != nil {
					return
				}
			}
		}
	}()
	return a
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.text != nil {
			a.empty <- a.now.text[:cap(a.now.text)]
		}
		select {
		case a.now = <-a.full:
		case <-a.ctx.Done():
			select {
			case a.now = <-a.full: // a block that has arrived by now
			default:
				a.now = block{err: a.ctx.Err()}
			}
		}
		a.rest = a.now.text
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// filled fills the buffers that it reads into. gzip returns at most 32 KB, and
// handing them to another goroutine takes as long as decompressing them.
type filled struct{ io.Reader }

func (f filled) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = f.Reader.Read(p[n:])
		n += more
	}
	return n, err
}

// errDamaged is the error if a part of a compressed file cannot be read.
var errDamaged = errors.New("damaged")

type zstdText struct{ *zstd.Decoder }

func (z zstdText) Read(p []byte) (int, error) {
	n, err := z.Decoder.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errDamaged
	}
	return n, err
}

// gzipText is the text of the members of a gzip file. After a damaged member it
// goes on with the next one.
type gzipText struct {
	from    *bufio.Reader
	members gzip.Reader
	within  bool // the next text is within a member
	damaged bool // a member was damaged
	broken  bool // the text so far ends within a damaged member
}

func (g *gzipText) Read(p []byte) (int, error) {
	for {
		if !g.within {
			if err := g.next(); err != nil {
				return 0, err
			}
			if g.broken {
				g.broken = false
				return copy(p, "\n"), nil // the text that follows does not belong to it
			}
		}
		n, err := g.members.Read(p)
		if err != nil {
			g.within = false
			if !errors.Is(err, io.EOF) {
				g.damaged = true
				g.broken = true
			}
		}
		if n > 0 {
			return n, nil
		}
	}
}

// next begins the next member, wherever it is.
func (g *gzipText) next() error {
	for {
		head, err := g.from.Peek(len(gzipMagic))
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil && g.damaged:
			return errDamaged
		case err != nil:
			return io.EOF
		case bytes.Equal(head, gzipMagic):
			if err := g.members.Reset(g.from); err == nil {
				g.members.Multistream(false)
				g.within = true
				return nil
			}
			g.damaged = true
		default:
			if _, err := g.from.Discard(1); err != nil {
				return err
			}
		}
	}
}

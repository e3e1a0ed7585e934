// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"io"
)

// ReadPipe counts the decisions of a pipe until it ends.
func (c *Collector) ReadPipe(from io.Reader) error {
	b := newReader(c.options, c.Counter)
	b.begin()
	have := 0 // bytes of the buffer that are not read yet
	for {
		n, err := from.Read(b.room(have))
		have += n
		if err != nil {
			b.reader.Close(b.buffer[:have])
		} else {
			read := b.reader.Read(b.buffer[:have])
			if have = copy(b.buffer, b.buffer[read:have]); have == 0 {
				b.shrink()
			}
		}
		b.batch.Count()
		c.metrics.note(b)
		b.begin()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A stream counts the decisions of a text that grows, such as a file or a pipe.
type stream struct {
	c      *Collector
	reader *bodyReader
	have   int // bytes of the reader's buffer that are not read yet
}

func (c *Collector) newStream() *stream {
	s := &stream{c: c, reader: newBodyReader(c.Counter)}
	s.reader.begin()
	return s
}

// read reads what a text has now, and counts the decisions. It returns io.EOF
// at the end.
func (s *stream) read(from io.Reader) (n int, err error) {
	b := s.reader
	if s.have == len(b.buffer) {
		b.buffer = append(b.buffer, make([]byte, len(b.buffer))...)
	}
	n, err = from.Read(b.buffer[s.have:])
	if s.have += n; s.have > 0 {
		read := b.reader.Read(b.buffer[:s.have])
		s.have = copy(b.buffer, b.buffer[read:s.have])
	}
	s.count()
	return n, err
}

func (s *stream) count() {
	if b := s.reader; b.batch.Len() > 0 || len(b.problems) > 0 {
		b.batch.Count()
		s.c.metrics.note(b)
		b.begin()
	}
}

// end reads the rest, and makes the stream ready for another text.
func (s *stream) end() {
	s.reader.reader.Close(s.reader.buffer[:s.have])
	s.have = 0
	s.count()
	s.reader.reader.Reset()
}

// ReadPipe counts the decisions of a pipe until it ends. It writes the text to
// pass, unless that is nil.
func (c *Collector) ReadPipe(from io.Reader, pass io.Writer) error {
	s := c.newStream()
	defer s.end()
	if pass != nil {
		from = io.TeeReader(from, pass)
	}
	for {
		if _, err := s.read(from); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// poll is the time between two looks at files that grow.
const poll = 250 * time.Millisecond

// Follow counts the decisions that are appended to files from now on, until ctx
// ends. Patterns are those of filepath.Match. A file that is replaced, or
// truncated, is read from its beginning. So is a file that appears later.
func (c *Collector) Follow(ctx context.Context, patterns []string) {
	followed := map[string]*followedFile{}
	for first := true; ; first = false {
		for _, pattern := range patterns {
			names, _ := filepath.Glob(pattern)
			if len(names) == 0 {
				names = []string{pattern}
			}
			for _, name := range names {
				f := followed[name]
				if f == nil {
					f = &followedFile{name: name, stream: c.newStream(), skip: first}
					followed[name] = f
				}
				if err := f.readOn(); err != nil && !errors.Is(err, fs.ErrNotExist) {
					c.options.Log.Warn("A followed file cannot be read.", "file", name, "error", err)
				}
			}
		}
		select {
		case <-ctx.Done():
			for _, f := range followed {
				f.close()
			}
			return
		case <-time.After(poll):
		}
	}
}

// followedFile is a file that grows.
type followedFile struct {
	name   string
	stream *stream
	file   *os.File // nil while there is none
	skip   bool     // begin at the end
}

// readOn reads what was appended. It reads a file that was renamed to its end
// before it opens the file that has the name now.
func (f *followedFile) readOn() error {
	now, err := os.Stat(f.name)
	if f.file != nil {
		if err := f.readAll(); err != nil {
			return err
		}
		old, statErr := f.file.Stat()
		if statErr != nil {
			return statErr
		}
		at, seekErr := f.file.Seek(0, io.SeekCurrent)
		switch {
		case seekErr != nil:
			return seekErr
		case err == nil && os.SameFile(old, now) && old.Size() >= at:
			return nil
		case err == nil && os.SameFile(old, now): // truncated
			f.stream.end()
			_, err = f.file.Seek(0, io.SeekStart)
			return errors.Join(err, f.readAll())
		case errors.Is(err, fs.ErrNotExist): // renamed, and there is no other yet
			return nil
		}
		f.close()
	}
	if err != nil {
		f.skip = false
		return err
	}
	if f.file, err = os.Open(f.name); err != nil {
		f.file = nil
		return err
	}
	if f.skip {
		f.skip = false
		_, err = f.file.Seek(0, io.SeekEnd)
		return err
	}
	return f.readAll()
}

func (f *followedFile) readAll() error {
	for {
		n, err := f.stream.read(f.file)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (f *followedFile) close() {
	if f.file != nil {
		f.stream.end()
		_ = f.file.Close()
		f.file = nil
	}
}

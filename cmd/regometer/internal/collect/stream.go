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
	"slices"
	"syscall"
	"time"
)

// A stream counts the decisions of a text that grows, such as a file or a pipe.
type stream struct {
	c      *Collector
	reader *bodyReader
	have   int // bytes of the reader's buffer that are not read yet
}

func (c *Collector) newStream() *stream {
	s := &stream{c: c, reader: c.newReader(nil)}
	s.reader.begin()
	return s
}

// read reads what a text has now, and counts the decisions.
func (s *stream) read(from io.Reader) (sum int64, err error) {
	b := s.reader
	for err == nil {
		var n int
		n, err = from.Read(b.room(s.have))
		sum += int64(n)
		s.have += n
		read := b.reader.Read(b.buffer[:s.have])
		s.have = copy(b.buffer, b.buffer[read:s.have])
		s.count()
	}
	if s.have == 0 {
		b.shrink()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return sum, err
}

func (s *stream) count() {
	s.c.countBatch(s.reader)
	s.reader.begin()
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
	_, err := s.read(from)
	return err
}

// poll is the time between two looks at files that grow.
const poll = 250 * time.Millisecond

const (
	// turn is about how many bytes of a file are read before it is the turn of
	// the next file.
	turn = 4 << 20
	// absence is the time after which a file that has lost its name is closed.
	// Its writer may still have it open until then.
	absence = time.Minute
)

// Follow counts the decisions that are appended to files from now on, until ctx
// ends. Patterns are those of filepath.Match. A file that appears later, or is
// truncated, is read from its beginning. A file keeps its place if it gets
// another name that the patterns match within a minute. Follow leaves out what
// is no regular file.
func (c *Collector) Follow(ctx context.Context, patterns []string) {
	f := &follower{c: c, patterns: patterns}
	for first := true; ctx.Err() == nil; first = false {
		if !f.round(ctx, first) {
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	}
	for _, x := range f.files {
		x.close()
	}
}

// follower follows files.
type follower struct {
	c        *Collector
	patterns []string
	files    []*followedFile
	failed   map[string]string // by name: the last error, which is logged once
}

// followedFile is a file that grows.
type followedFile struct {
	name   string // the last one
	file   *os.File
	info   os.FileInfo // tells which file it is
	stream *stream
	seen   time.Time // when it last had a name
}

// round looks for new files and reads a turn of each file. It reports whether
// there is more to read.
func (f *follower) round(ctx context.Context, first bool) (more bool) {
	before := f.failed
	f.failed = map[string]string{}
	check := func(name string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if f.failed[name] = err.Error(); before[name] != err.Error() {
				f.c.options.Log.Warn("A followed file cannot be read.", "file", name, "error", err)
			}
		}
	}
	for _, pattern := range f.patterns {
		names, _ := filepath.Glob(pattern)
		if len(names) == 0 {
			names = []string{pattern}
		}
		for _, name := range names {
			check(name, f.find(name, first))
		}
	}
	f.files = slices.DeleteFunc(f.files, func(x *followedFile) bool {
		if ctx.Err() != nil {
			return false
		}
		goesOn, err := x.read()
		check(x.name, err)
		more = more || goesOn
		gone := !goesOn && time.Since(x.seen) >= absence
		if gone {
			x.close()
		}
		return gone
	})
	return more
}

var errIrregular = errors.New("it is no regular file, and is left out")

// find notes that a file has a name. It opens a new file, and goes to its end if
// it is there at first.
func (f *follower) find(name string, first bool) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(f.files, func(x *followedFile) bool { return os.SameFile(x.info, info) })
	if i < 0 {
		if !info.Mode().IsRegular() {
			return errIrregular // opening a FIFO or a device can have effects
		}
		file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the name may have become a FIFO's
		if err != nil {
			return err
		}
		if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
			err = errIrregular
		}
		if err == nil && first {
			_, err = file.Seek(0, io.SeekEnd)
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
		i, f.files = len(f.files), append(f.files, &followedFile{file: file, info: info, stream: f.c.newStream()})
	}
	f.files[i].name, f.files[i].seen = name, time.Now()
	return nil
}

// read reads a turn, and reports whether there is more to read. It goes to the
// beginning of a file that was truncated.
func (x *followedFile) read() (more bool, err error) {
	n, err := x.stream.read(io.LimitReader(x.file, turn))
	if err != nil || n == turn {
		return err == nil, err
	}
	info, err := x.file.Stat()
	if err != nil {
		return false, err
	}
	if at, err := x.file.Seek(0, io.SeekCurrent); err != nil || info.Size() >= at {
		return false, err
	}
	x.stream.end()
	_, err = x.file.Seek(0, io.SeekStart)
	return err == nil, err
}

// close reads the rest of the last line, and closes the file.
func (x *followedFile) close() {
	x.stream.end()
	_ = x.file.Close()
}

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
	s := &stream{c: c, reader: newBodyReader(c.Counter, int(c.options.MaxEvent), nil)}
	s.reader.begin()
	return s
}

// read reads what a text has now, and counts the decisions. It returns io.EOF
// at the end.
func (s *stream) read(from io.Reader) (n int, err error) {
	b := s.reader
	n, err = from.Read(b.room(s.have))
	if s.have += n; s.have > 0 {
		read := b.reader.Read(b.buffer[:s.have])
		s.have = copy(b.buffer, b.buffer[read:s.have])
	}
	s.count()
	if n == 0 && s.have == 0 {
		b.shrink()
	}
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
	names    map[string]*followedFile
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
	before := *f
	f.names, f.failed = map[string]*followedFile{}, map[string]string{}
	check := func(name string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if f.failed[name] = err.Error(); before.failed[name] != err.Error() {
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
			check(name, f.find(name, before.names[name], first))
		}
	}
	f.files = slices.DeleteFunc(f.files, func(x *followedFile) bool {
		if ctx.Err() != nil {
			return false
		}
		goesOn, err := x.read()
		check(x.name, err)
		more = more || goesOn
		if goesOn || time.Since(x.seen) < absence {
			return false
		}
		x.close()
		return true
	})
	return more && ctx.Err() == nil
}

var errIrregular = errors.New("it is no regular file, and is left out")

// find notes the file that has a name, which is probably guess. It opens a new
// file, and goes to its end if it is there at first.
func (f *follower) find(name string, guess *followedFile, first bool) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	has := func(x *followedFile) bool { return os.SameFile(x.info, info) }
	if guess == nil || !has(guess) {
		guess = nil
		if i := slices.IndexFunc(f.files, has); i >= 0 {
			guess = f.files[i]
		}
	}
	if guess == nil {
		if guess, err = f.open(name, info, first); err != nil {
			return err
		}
		f.files = append(f.files, guess)
	}
	guess.name, guess.seen, f.names[name] = name, time.Now(), guess
	return nil
}

func (f *follower) open(name string, info os.FileInfo, atEnd bool) (*followedFile, error) {
	if !info.Mode().IsRegular() {
		return nil, errIrregular // opening a FIFO or a device can have effects
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the name may have become a FIFO's
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err == nil && atEnd {
		_, err = file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &followedFile{file: file, info: info, stream: f.c.newStream()}, nil
}

// read reads a turn, and reports whether there is more to read.
func (x *followedFile) read() (more bool, err error) {
	for read := 0; read < turn; {
		n, err := x.stream.read(x.file)
		if read += n; n == 0 || err != nil {
			if err == nil || errors.Is(err, io.EOF) {
				return x.restart()
			}
			return false, err
		}
	}
	return true, nil
}

// restart goes to the beginning of a file if it was truncated, and reports
// whether it was.
func (x *followedFile) restart() (truncated bool, err error) {
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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
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
	s := &stream{c: c, reader: newBodyReader(c.Counter, int(c.options.MaxEvent))}
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

// turn is about how many bytes of a file are read before it is the turn of the
// next file.
const turn = 4 << 20

// Follow counts the decisions that are appended to files from now on, until ctx
// ends. Patterns are those of filepath.Match. A file that is replaced, or
// truncated, is read from its beginning. So is a file that appears later,
// unless it is a followed file that was renamed. Follow leaves out what is no
// regular file.
func (c *Collector) Follow(ctx context.Context, patterns []string) {
	f := &follower{c: c, patterns: patterns, files: map[string]*followedFile{}}
	for first := true; ctx.Err() == nil; first = false {
		if f.look(first); !f.read(ctx) {
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	}
	for _, file := range f.files {
		f.close(file)
	}
}

// follower follows files.
type follower struct {
	c        *Collector
	patterns []string
	files    map[string]*followedFile
	// done has the files that were read before, the last ones, so that they are
	// recognised by another name.
	done []readFile
}

// readFile is a file and the bytes of it that were read.
type readFile struct {
	info os.FileInfo
	size int64
	head []byte // the first bytes, since a new file can have the number of an old one
}

const (
	mostDone = 256 // limits follower.done
	mostHead = 512 // limits readFile.head
	// absence is the time after which a file that has lost its name is closed.
	// Its writer may still have it open until then.
	absence = time.Minute
)

// followedFile is a file that grows.
type followedFile struct {
	name   string
	stream *stream  // nil before there is a file
	file   *os.File // nil while there is none
	skip   bool     // begin at the end
	absent time.Time
	failed string // the last error, which is logged once
}

// look looks for files that are new.
func (f *follower) look(first bool) {
	for _, pattern := range f.patterns {
		names, _ := filepath.Glob(pattern)
		if len(names) == 0 {
			names = []string{pattern}
		}
		for _, name := range names {
			if f.files[name] == nil {
				f.files[name] = &followedFile{name: name, skip: first}
			}
		}
	}
}

// read reads a turn of each file, and reports whether there is more to read.
func (f *follower) read(ctx context.Context) (more bool) {
	for name, x := range f.files {
		if ctx.Err() != nil {
			return false
		}
		goesOn, err := f.readOn(x)
		more = more || goesOn && err == nil
		switch {
		case err == nil:
			x.failed = ""
		case errors.Is(err, fs.ErrNotExist):
			delete(f.files, name) // the pattern finds it again
		case err.Error() != x.failed:
			x.failed = err.Error()
			f.c.options.Log.Warn("A followed file cannot be read.", "file", name, "error", err)
		}
	}
	return more
}

// readOn reads what was appended, and reports whether there is more to read. It
// reads a file that was renamed to its end before it opens the file that has
// the name now.
func (f *follower) readOn(x *followedFile) (more bool, err error) {
	now, err := os.Stat(x.name)
	if x.file != nil {
		if more, err := x.readTurn(); more || err != nil {
			return more, err
		}
		old, size, positionErr := x.position()
		switch {
		case positionErr != nil:
			return false, positionErr
		case err == nil && os.SameFile(old, now) && old.Size() >= size:
			x.absent = time.Time{}
			return false, nil
		case err == nil && os.SameFile(old, now): // truncated
			x.stream.end()
			_, err = x.file.Seek(0, io.SeekStart)
			return true, err
		case err != nil: // renamed, and there is no other yet
			if x.absent.IsZero() {
				x.absent = time.Now()
			}
			if time.Since(x.absent) < absence {
				return false, nil
			}
		}
		f.close(x)
	}
	if err != nil || f.isOpen(now) {
		return false, err
	}
	return true, f.open(x, now)
}

var errIrregular = errors.New("it is no regular file, and is left out")

// open opens a file, and goes to the first byte that counts.
func (f *follower) open(x *followedFile, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errIrregular // opening a FIFO or a device can have effects
	}
	file, err := os.OpenFile(x.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the name may have become a FIFO's
	if err != nil {
		return err
	}
	switch info, err = file.Stat(); {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errIrregular
	case x.skip:
		_, err = file.Seek(0, io.SeekEnd)
	default:
		_, err = file.Seek(f.readBefore(file, info), io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	x.file, x.skip, x.absent = file, false, time.Time{}
	if x.stream == nil {
		x.stream = f.c.newStream()
	}
	return nil
}

// isOpen reports whether a file is being followed by another name.
func (f *follower) isOpen(info os.FileInfo) bool {
	for _, x := range f.files {
		if x.file != nil {
			if old, err := x.file.Stat(); err == nil && os.SameFile(old, info) {
				return true
			}
		}
	}
	return false
}

// readBefore returns the bytes of a file that were read by another name.
func (f *follower) readBefore(file *os.File, info os.FileInfo) int64 {
	for _, d := range slices.Backward(f.done) {
		head := make([]byte, len(d.head))
		if n, _ := file.ReadAt(head, 0); os.SameFile(d.info, info) && info.Size() >= d.size && bytes.Equal(head[:n], d.head) {
			return d.size
		}
	}
	return 0
}

// close reads the rest of a file, and closes it.
func (f *follower) close(x *followedFile) {
	if x.file == nil {
		return
	}
	if info, size, err := x.position(); err == nil {
		head := make([]byte, min(size, mostHead))
		n, _ := x.file.ReadAt(head, 0)
		f.done = append(f.done, readFile{info, size, head[:n]})
		f.done = f.done[max(0, len(f.done)-mostDone):]
	}
	x.stream.end()
	_ = x.file.Close()
	x.file = nil
}

// position returns the file and the bytes of it that were read.
func (x *followedFile) position() (info os.FileInfo, size int64, err error) {
	if info, err = x.file.Stat(); err == nil {
		size, err = x.file.Seek(0, io.SeekCurrent)
	}
	return info, size, err
}

// readTurn reads what there is, and reports whether there is more than a turn.
func (x *followedFile) readTurn() (more bool, err error) {
	for read := 0; read < turn; {
		n, err := x.stream.read(x.file)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return false, nil
		} else if err != nil {
			return false, err
		}
		read += n
	}
	return true, nil
}

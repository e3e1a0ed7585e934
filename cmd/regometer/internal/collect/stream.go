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
	n, err = from.Read(b.room(s.have))
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
// truncated, is read from its beginning. So is a file that appears later,
// unless it is a followed file that was renamed.
func (c *Collector) Follow(ctx context.Context, patterns []string) {
	f := &follower{c: c, files: map[string]*followedFile{}}
	for first := true; ; first = false {
		for _, pattern := range patterns {
			names, _ := filepath.Glob(pattern)
			if len(names) == 0 {
				names = []string{pattern}
			}
			for _, name := range names {
				if f.files[name] == nil {
					f.files[name] = &followedFile{name: name, stream: c.newStream(), skip: first}
				}
			}
		}
		for name, file := range f.files {
			err := f.readOn(file)
			switch {
			case errors.Is(err, fs.ErrNotExist) && file.file == nil:
				delete(f.files, name) // the pattern finds it again
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				c.options.Log.Warn("A followed file cannot be read.", "file", name, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			for _, file := range f.files {
				f.close(file)
			}
			return
		case <-time.After(poll):
		}
	}
}

// follower follows files.
type follower struct {
	c     *Collector
	files map[string]*followedFile
	// done has the files that were read before, the last ones, so that they are
	// recognised by another name.
	done []readFile
}

// readFile is a file and the bytes of it that were read.
type readFile struct {
	info os.FileInfo
	size int64
}

const (
	mostDone = 256 // limits follower.done
	// absence is the time after which a file that has lost its name is closed.
	// Its writer may still have it open until then.
	absence = time.Minute
)

// followedFile is a file that grows.
type followedFile struct {
	name   string
	stream *stream
	file   *os.File // nil while there is none
	skip   bool     // begin at the end
	absent time.Time
}

// readOn reads what was appended. It reads a file that was renamed to its end
// before it opens the file that has the name now.
func (f *follower) readOn(x *followedFile) error {
	now, err := os.Stat(x.name)
	if x.file != nil {
		if err := x.readAll(); err != nil {
			return err
		}
		old, size, positionErr := x.position()
		switch {
		case positionErr != nil:
			return positionErr
		case err == nil && os.SameFile(old, now) && old.Size() >= size:
			x.absent = time.Time{}
			return nil
		case err == nil && os.SameFile(old, now): // truncated
			x.stream.end()
			_, err = x.file.Seek(0, io.SeekStart)
			return errors.Join(err, x.readAll())
		case errors.Is(err, fs.ErrNotExist): // renamed, and there is no other yet
			if x.absent.IsZero() {
				x.absent = time.Now()
			}
			if time.Since(x.absent) < absence {
				return nil
			}
		}
		f.close(x)
	}
	if err != nil || f.isOpen(now) {
		return err
	}
	if x.file, err = os.Open(x.name); err != nil {
		x.file = nil
		return err
	}
	if x.skip || f.wasRead(now) {
		x.skip = false
		_, err = x.file.Seek(0, io.SeekEnd)
		return err
	}
	return x.readAll()
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

// wasRead reports whether a file was read by another name. A new file can have
// the number of an old one, but is mostly shorter at first.
func (f *follower) wasRead(info os.FileInfo) bool {
	return slices.ContainsFunc(f.done, func(d readFile) bool { return os.SameFile(d.info, info) && info.Size() >= d.size })
}

// close reads the rest of a file, and closes it.
func (f *follower) close(x *followedFile) {
	if x.file == nil {
		return
	}
	if info, size, err := x.position(); err == nil {
		f.done = append(f.done, readFile{info, size})
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

func (x *followedFile) readAll() error {
	for {
		n, err := x.stream.read(x.file)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		} else if err != nil {
			return err
		}
	}
}

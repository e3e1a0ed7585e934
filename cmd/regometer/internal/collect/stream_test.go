// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// line returns a decision in a line.
func line(id int) string { return strings.Trim(events(fmt.Sprint(id), 1), "[]") + "\n" }

func TestPipe(t *testing.T) {
	t.Parallel()
	c := newCollector(Options{})
	text := "OPA starts\n" + line(1) + `{"decision_id":"x","path":"p"}` + "\n" + strings.TrimSuffix(line(3), "\n")
	var pass bytes.Buffer
	noError(c.ReadPipe(iotest.OneByteReader(strings.NewReader(text)), &pass))
	check(t, c, tally{"decisions": 3, "event_problems no_metrics": 1, "servers": 1})
	if pass.String() != text {
		t.Errorf("%q is passed on", pass.String())
	}
	err := c.ReadPipe(io.MultiReader(strings.NewReader(line(4)), iotest.ErrReader(io.ErrClosedPipe)), nil)
	if n := tallyOf(c)["decisions"]; n != 4 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v decisions count, and the error of a pipe is %v", n, err)
	}
	s := c.newStream()
	must(s.read(strings.NewReader(`{"decision_id":"x","path":"p","input":"` + strings.Repeat("x", largeBuffer) + `"}` + "\n")))
	if n := len(s.reader.buffer); n != usualBuffer {
		t.Errorf("after a long event, the buffer has %d bytes", n)
	}
}

// following is a folder whose logs are followed, by a clock that costs no time.
type following struct {
	*testing.T
	c     *Collector
	dir   string
	lines int // that were written
	log   func() string
}

func follow(t *testing.T, do func(f *following)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c, log := newLogged(Options{})
		do(&following{T: t, c: c, dir: dir, log: log})
	})
}

// start follows the files of a pattern until the end of the test.
func (f *following) start(pattern string) {
	go f.c.Follow(f.Context(), []string{f.path(pattern)})
	synctest.Wait()
	f.Cleanup(func() {
		if synctest.Wait(); f.open() > 0 {
			f.Errorf("at the end %d files are open", f.open())
		}
	})
}

func (f *following) path(name string) string { return filepath.Join(f.dir, name) }

// write appends n lines to a file. The writer flushes within a line.
func (f *following) write(name string, n int) {
	for range n {
		f.lines++
		f.append(name, line(f.lines)[:40])
		if f.lines%3 == 0 {
			time.Sleep(2 * poll)
		}
		f.append(name, line(f.lines)[40:])
	}
}

func (f *following) append(name, text string) {
	file := must(os.OpenFile(f.path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	must(file.WriteString(text))
	noError(file.Close())
}

func (f *following) rename(from, to string) { noError(os.Rename(f.path(from), f.path(to))) }

func (f *following) truncate(name string, size int64) { noError(os.Truncate(f.path(name), size)) }

// expect waits, and then checks the decisions that count.
func (f *following) expect(what string, want int) {
	f.Helper()
	time.Sleep(3 * poll)
	if n := tallyOf(f.c)["decisions"]; n != float64(want) {
		f.Fatalf("%s: %v decisions count, want %d", what, n, want)
	}
}

// open returns the number of open files of the folder. It is 0 on systems that
// do not tell.
func (f *following) open() (n int) {
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		if to, _ := os.Readlink(name); strings.HasPrefix(to, f.dir+"/") {
			n++
		}
	}
	return n
}

// Files are followed from their end, and longer than they have a name. Files
// that appear later, or are truncated, are read from their beginning. A folder
// gets one warning each time it appears.
func TestFollow(t *testing.T) {
	t.Parallel()
	follow(t, func(f *following) {
		f.write("a.log", 5)
		noError(os.Mkdir(f.path("folder.log"), 0o700))
		f.start("*.log")
		f.lines = 0
		f.write("a.log", 10)
		f.expect("lines in parts", 10)
		f.rename("a.log", "old")
		f.rename("folder.log", "folder")
		time.Sleep(time.Minute / 2)
		f.write("old", 10) // the writer still has it open
		f.write("a.log", 10)
		f.expect("a renamed file and a new one", 30)
		f.rename("old", "b.log")
		f.rename("folder", "folder.log")
		time.Sleep(2 * time.Minute)
		f.write("b.log", 10)
		f.expect("a file that has a name again", 40)
		f.rename("b.log", "c.log")
		f.rename("a.log", "b.log")
		f.write("b.log", 10)
		f.write("c.log", 10)
		f.expect("files that are renamed in turn", 60)
		f.append("c.log", strings.TrimSpace(line(0)))
		f.rename("c.log", "old")
		time.Sleep(2 * time.Minute)
		f.write("old", 1)
		f.expect("a last line without an end, in a file that has lost its name", 61)
		if n := f.open(); n > 1 {
			f.Errorf("%d files are open, want 1", n)
		}
		f.append("b.log", line(0)[:40])
		time.Sleep(2 * poll)
		f.truncate("b.log", 0)
		f.write("b.log", 1)
		f.expect("a truncated file with new text", 62)
		if log := f.log(); strings.Count(log, "\n") != 2 {
			f.Errorf("the log is %s", log)
		}
	})
}

// A large file takes turns with the others, and the end does not wait for it. It
// is read to its end after it has lost its name.
func TestFollowTakesTurns(t *testing.T) {
	t.Parallel()
	follow(t, func(f *following) {
		f.write("small", 1)
		f.write("large", 1)
		f.truncate("large", 64<<20)
		f.append("large", "\n"+line(0))
		g := &follower{c: f.c, patterns: []string{f.path("[^g]*")}}
		at := func() (size int64) {
			for _, x := range g.files {
				size += must(x.file.Seek(0, io.SeekCurrent))
			}
			return size
		}
		more, before := g.round(f.Context(), false), at()
		f.expect("the small file and the first turn of the large one", 2)
		ended, end := context.WithCancel(f.Context())
		end()
		if !more || before < turn || before > 3*turn/2 || g.round(ended, false) || at() != before {
			f.Errorf("after a turn %d bytes are read, and after the end %d", before, at())
		}
		f.rename("large", "gone")
		time.Sleep(absence)
		for g.round(f.Context(), false) {
		}
		if f.expect("the large file", 3); len(g.files) != 1 {
			f.Errorf("at the end %d files are open", len(g.files))
		}
		g.files[0].close()
	})
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// line returns a decision in a line.
func line(id int) string { return strings.Trim(events(fmt.Sprint(id), 1), "[]") + "\n" }

func TestPipe(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Options{})
	text := "OPA starts\n" + line(1) + `{"decision_id":"x","path":"p"}` + "\n" + strings.TrimSuffix(line(3), "\n")
	var pass bytes.Buffer
	if err := c.ReadPipe(iotest.OneByteReader(strings.NewReader(text)), &pass); err != nil {
		t.Fatal(err)
	}
	if n := counted(t, c, "decisions"); n != 3 || pass.String() != text {
		t.Errorf("%v decisions count, and %q is passed on", n, pass.String())
	}
	if n := testutil.ToFloat64(c.metrics.wrong.WithLabelValues("no_metrics")); n != 1 {
		t.Errorf("%v events lack metrics", n)
	}
	err := c.ReadPipe(io.MultiReader(strings.NewReader(line(4)), iotest.ErrReader(io.ErrClosedPipe)), nil)
	if n := counted(t, c, "decisions"); n != 4 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v decisions count, and the error of a pipe is %v", n, err)
	}
}

// following is a folder whose logs are followed, by a clock that costs no time.
type following struct {
	*testing.T
	c     *Collector
	dir   string
	lines int // that were written
	log   bytes.Buffer
}

// follow calls do while the files of a pattern are followed.
func follow(t *testing.T, pattern string, before func(f *following), do func(f *following)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &following{T: t, c: newCollector(t, Options{}), dir: dir}
		f.c.options.Log = slog.New(slog.NewTextHandler(&f.log, nil))
		before(f)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.c.Follow(ctx, []string{filepath.Join(dir, pattern)})
		synctest.Wait()
		do(f)
		cancel()
		synctest.Wait()
		if n := f.open(); n > 0 {
			t.Errorf("at the end %d files are open", n)
		}
	})
}

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
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	f.check(err)
	_, err = file.WriteString(text)
	f.check(err)
	f.check(file.Close())
}

func (f *following) rename(from, to string) {
	f.check(os.Rename(filepath.Join(f.dir, from), filepath.Join(f.dir, to)))
}

func (f *following) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// expect waits, and then checks the decisions that count.
func (f *following) expect(what string, want int) {
	f.Helper()
	time.Sleep(3 * poll)
	if n := counted(f.T, f.c, "decisions"); n != float64(want) {
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

// Files are followed from their end, over rotation by renaming and by
// truncation. Files that appear later are read from their beginning.
func TestFollow(t *testing.T) {
	t.Parallel()
	follow(t, "*.log", func(f *following) { f.write("a.log", 5) }, func(f *following) {
		f.lines = 0
		f.expect("what was there before", 0)
		f.write("a.log", 10)
		f.expect("lines in parts", 10)
		f.rename("a.log", "old")
		f.write("old", 10) // the writer still has it open
		f.expect("a renamed file", 20)
		time.Sleep(time.Minute / 2)
		f.write("old", 10)
		f.expect("a renamed file, half a minute later", 30)
		f.write("a.log", 10)
		f.write("old", 10)
		f.expect("the renamed file and a new one", 50)
		f.rename("old", "b.log")
		time.Sleep(2 * time.Minute)
		f.write("b.log", 10)
		f.expect("a renamed file with a name that is followed", 60)
		f.rename("b.log", "old")
		for i := range 100 {
			f.write(fmt.Sprint(i, ".log"), 1)
			time.Sleep(2 * poll)
			f.rename(fmt.Sprint(i, ".log"), "gone")
		}
		time.Sleep(2 * time.Minute)
		f.write("old", 1)
		f.expect("many files that are gone", 160)
		if n := f.open(); n > 1 {
			f.Errorf("%d files are open, want 1", n)
		}
		f.append("a.log", line(0)[:40])
		time.Sleep(2 * poll)
		f.check(os.Truncate(filepath.Join(f.dir, "a.log"), 0))
		time.Sleep(2 * poll)
		f.write("a.log", 1)
		f.expect("a truncated file", 161)
		f.append("a.log", strings.TrimSpace(line(0)))
		f.rename("a.log", "old")
		time.Sleep(2 * time.Minute)
		f.expect("a last line without an end", 162)
	})
}

// Writers and rotation at random: each line counts once.
func TestFollowModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 1))
		follow(t, "*.log*", func(*following) {}, func(f *following) {
			has := func(name string) bool { _, err := os.Stat(filepath.Join(f.dir, name)); return err == nil }
			for range 60 {
				name := fmt.Sprint(random.IntN(2), ".log")
				switch old := name + fmt.Sprint(".", 1+random.IntN(2)); random.IntN(8) {
				case 0:
					if has(name + ".2") { // it is replaced
						f.expect("before a file goes", f.lines)
					}
					if has(name + ".1") {
						f.rename(name+".1", name+".2")
					}
					if has(name) {
						f.rename(name, name+".1")
					}
				case 1:
					if has(name) {
						f.expect("before a file is truncated", f.lines)
						info, err := os.Stat(filepath.Join(f.dir, name))
						f.check(err)
						f.check(os.Truncate(filepath.Join(f.dir, name), 0))
						if info.Size() > int64(2*len(line(0))) { // a file that is as long again looks unchanged
							f.write(name, 1)
						}
						time.Sleep(2 * poll)
					}
				case 2:
					time.Sleep(2 * time.Minute)
				case 3:
					if has(old) { // its writer still has it open
						f.write(old, random.IntN(5))
					}
				default:
					f.write(name, random.IntN(20))
				}
				if random.IntN(2) == 0 {
					f.expect(fmt.Sprint("seed ", seed), f.lines)
				}
			}
		})
	}
}

// A large file takes turns with the others, and the end does not wait for it. It
// is read to its end after it has lost its name. A folder gets one warning each
// time it appears.
func TestFollowTakesTurns(t *testing.T) {
	t.Parallel()
	follow(t, "none", func(*following) {}, func(f *following) {
		f.check(os.Mkdir(filepath.Join(f.dir, "folder"), 0o700))
		f.write("small", 1)
		f.write("large", 1)
		f.check(os.Truncate(filepath.Join(f.dir, "large"), 64<<20))
		f.append("large", "\n"+line(0))
		g := &follower{c: f.c, patterns: []string{filepath.Join(f.dir, "[^g]*")}}
		ended, end := context.WithCancel(f.Context())
		end()
		at := func() (size int64) {
			for _, x := range g.files {
				n, err := x.file.Seek(0, io.SeekCurrent)
				f.check(err)
				size += n
			}
			return size
		}
		if more, size := g.round(f.Context(), false), at(); !more || size < turn || size > 3*turn/2 || counted(t, f.c, "decisions") != 2 {
			f.Errorf("after a turn %d bytes are read, and %v decisions count", size, counted(t, f.c, "decisions"))
		}
		if before := at(); g.round(ended, false) || at() != before {
			f.Errorf("after the end %d bytes are read", at()-before)
		}
		f.rename("large", "gone")
		time.Sleep(absence)
		for g.round(f.Context(), false) {
		}
		if n := counted(t, f.c, "decisions"); n != 3 || len(g.files) != 1 {
			f.Errorf("at the end %v decisions count, and %d files are open", n, len(g.files))
		}
		f.rename("folder", "gone too")
		g.round(f.Context(), false)
		f.rename("gone too", "folder")
		g.round(f.Context(), false)
		if n := strings.Count(f.log.String(), "level=WARN"); n != 2 {
			f.Errorf("the log is %s", &f.log)
		}
		for _, x := range g.files {
			x.close()
		}
	})
}

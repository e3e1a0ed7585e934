// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package report reads decision logs of Open Policy Agent (OPA) and reports
// where the time went.
//
// [Read] finds the files and cuts them into parts. Package logread reads
// the events in the parts, and package groupby folds the events into groups.
// The result is [Data], which can be saved, loaded and merged. Data.Report
// makes a [Report], which can be written as a table, Markdown, JSON or a page.
package report

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/repeats"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

// Read reads decision logs. It counts the problems of the logs, which are not
// errors. If ctx ends, Read returns the data that it has read until then,
// marked as interrupted.
//
// The data depend on the options and on the content of the files, and not on
// the number of workers. See [Options.Unique] for its exceptions.
func Read(ctx context.Context, o Options) (*Data, error) {
	files, err := InputFiles(o.Inputs)
	if err := cmp.Or(o.Check(), err); err != nil {
		return nil, err
	}
	return ReadFiles(ctx, o, files)
}

// ReadFiles is Read for files that [InputFiles] returned for o.Inputs.
func ReadFiles(ctx context.Context, o Options, files []InputFile) (*Data, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	r := &reading{Options: o, start: time.Now(), jobs: make(chan func(*worker), jobsAhead), ids: new(repeats.Set)}
	r.sample = &sampleLimit{limit: hashLimit, sizes: map[*decisionSample]int{}}
	whole := ctx // the new ctx also ends if Each fails
	ctx, r.fail = context.WithCancelCause(ctx)
	defer r.fail(nil)
	for _, f := range files {
		r.inputs = append(r.inputs, &input{InputFile: f})
		if r.of >= 0 && f.isRegular() {
			r.of += f.Info.Size()
		} else {
			r.of = -1
		}
	}
	workers, groups := make([]*worker, o.Workers), make([]*groupby.Groups, o.Workers)
	for i := range workers {
		workers[i] = newWorker(r)
		groups[i] = workers[i].sum.groups
	}
	groupby.ShareRoom(groups...)
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for job := range r.jobs {
				job(w)
			}
			w.sum.ids.Flush()
			w.sum.servers.flush()
			w.sum.clients.flush()
			w.sum.sample.fit()
			w.sum.sample.sort()
		})
	}
	for _, in := range r.inputs {
		r.open(ctx, in)
	}
	close(r.jobs)
	wg.Wait()
	if err := context.Cause(ctx); err != nil && whole.Err() == nil {
		return nil, err
	}
	all := workers[0].sum
	for _, in := range r.inputs {
		all.inputs.merge(in.sum())
	}
	for i, w := range workers {
		w.sum.slowest.place()
		if i > 0 {
			if err := all.Merge(w.sum); err != nil {
				return nil, err
			}
		}
	}
	all.inputs.Files, all.inputs.Bytes = int64(len(r.inputs)), r.bytes.Load()
	all.largest.compress()
	all.interrupted, all.options = whole.Err() != nil, &o
	return all, nil
}

// jobsAhead limits the jobs that wait for a worker. There must be several,
// because the goroutine that finds them gets no processor while the workers use
// all.
const jobsAhead = 16

// open opens an input and hands out its parts.
func (r *reading) open(ctx context.Context, in *input) {
	if ctx.Err() != nil {
		return
	}
	if !in.isRegular() {
		from, done := r.Stdin, func() {}
		if in.Name != standardInput {
			from, done = whenRead(in.Name)
		}
		text, _ := readAhead(ctx, r.counted(ctx, from, 0), done)
		p := in.newPart()
		r.jobs <- func(w *worker) { w.readContent(ctx, p, w.file, text, false) }
		return
	}
	if size := in.Info.Size(); size >= 2*leastPart {
		f, err := os.Open(in.Name)
		head := make([]byte, smallSize)
		n, _ := f.ReadAt(head, 0)
		if err == nil && formatOf(head[:min(n, headSize)]) == "" && !logread.HasTable(head[:n]) {
			r.cut(ctx, in, f, size)
			return
		}
		f.Close()
	}
	r.jobs <- func(w *worker) { w.readFile(ctx, in) }
}

// smallSize limits the files that a worker reads without help.
const smallSize = 64 << 10

// leastPart and greatestPart roughly limit the size of a part of a large file.
// Tests lower them.
var (
	leastPart    int64 = 1 << 20
	greatestPart int64 = 32 << 20
)

// cut hands out a large file in parts. A part begins at a boundary, where a
// reader need not know the text before.
func (r *reading) cut(ctx context.Context, in *input, f *os.File, size int64) {
	var users sync.WaitGroup
	send := func(from, to int64) {
		p, text := in.newPart(), r.counted(ctx, io.NewSectionReader(f, from, to-from), to-from)
		users.Add(1)
		r.jobs <- func(w *worker) {
			defer users.Done()
			p.fail(ctx, w.readText(ctx, p, text))
		}
	}
	from, fruitless := int64(0), 0
	// Parts are small enough for workers to end at about the same time, and
	// large enough to be worth beginning one.
	partSize := min(max(size/int64(64*r.Workers), leastPart), greatestPart)
	for at := partSize; at < size && fruitless < maxFruitless && ctx.Err() == nil; at += partSize {
		to := boundary(f, at)
		if to <= from {
			fruitless++
			continue
		}
		fruitless = 0
		send(from, to)
		from = to
	}
	send(from, size)
	go func() {
		users.Wait()
		f.Close()
	}()
}

// maxFruitless limits the parts without a boundary. After that many the text is
// probably of a kind that has none, and cut stops looking.
const maxFruitless = 4

// boundary returns the offset of a boundary shortly before at, or 0 if it finds
// none.
func boundary(f *os.File, at int64) int64 {
	for _, size := range [...]int64{1 << 13, 1 << 16, 1 << 20} {
		from := max(at-size, 0)
		text := make([]byte, at-from)
		n, _ := f.ReadAt(text, from)
		if b := logread.Boundary(text[:n]); b > 0 {
			return from + int64(b)
		}
	}
	return 0
}

// counted returns a reader that counts bytes and fails once ctx has ended, or
// if it ends before the size.
func (r *reading) counted(ctx context.Context, from io.Reader, size int64) io.Reader {
	read := int64(0)
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := from.Read(p)
		r.bytes.Add(int64(n))
		if r.Progress != nil {
			r.Progress(Progress{Bytes: r.bytes.Load(), Of: max(r.of, 0), Decisions: r.decisions.Load(), Elapsed: time.Since(r.start)})
		}
		read += int64(n)
		if read < size && errors.Is(err, io.EOF) {
			err = problemError{Shortened}
		}
		return n, err
	})
}

// whenRead returns a file that is opened when it is first read, and what closes
// it. An error is then one of reading. Opening a named pipe waits for a writer, and
// an interrupt must not wait for that.
func whenRead(name string) (io.Reader, func()) {
	var file *os.File
	return readerFunc(func(p []byte) (n int, err error) {
		if file == nil {
			if file, err = os.Open(name); err != nil {
				return 0, err
			}
		}
		return file.Read(p)
	}), func() { file.Close() } // which a nil file allows
}

// readFile reads a file that is not cut.
func (w *worker) readFile(ctx context.Context, in *input) {
	text, done := whenRead(in.Name)
	defer done()
	size := in.Info.Size()
	w.readContent(ctx, in.newPart(), w.file, w.counted(ctx, text, size), size < smallSize)
}

// readContent reads a file from its beginning, or a member of an archive. If
// mayWait is false, it uses other goroutines too.
func (w *worker) readContent(ctx context.Context, p *part, l *layer, from io.Reader, mayWait bool) {
	text, f, done, err := l.open(ctx, from, mayWait)
	defer done()
	switch {
	case err != nil:
	case f == formatTar && l == w.member:
		err = problemError{nested}
	case f == formatTar:
		p.input.members = new(Inputs)
		err = readTar(text, func(name string, text io.Reader) bool { return w.readMember(ctx, p.input, name, text) })
	default:
		if err = w.readText(ctx, p, text); w.reader.Unclosed() {
			p.failure = Unclosed
		}
	}
	p.fail(ctx, err)
}

// fail notes the error that ended the reading of a part.
func (p *part) fail(ctx context.Context, err error) {
	var known problemError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, io.EOF):
	case errors.As(err, &known):
		p.failure = known.Problem
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		p.failure = Damaged
	default:
		p.failure = Unreadable
	}
}

// maxMemberName limits the name of a member in messages.
const maxMemberName = 4096

// readMember reads a member of an archive, and reports whether it was read to
// its end.
func (w *worker) readMember(ctx context.Context, archive *input, name string, text io.Reader) bool {
	in := &input{InputFile: InputFile{Name: archive.Name + ":" + name[:min(len(name), maxMemberName)]}}
	p := in.newPart()
	w.readContent(ctx, p, w.member, checked{text}, true)
	archive.members.merge(in.sum()) // at once, so that memory does not grow with the members
	return p.failure == ""
}

// readText reads the text of a part, and returns the error that ends it.
func (w *worker) readText(ctx context.Context, p *part, text io.Reader) (err error) {
	w.part = p
	w.reader.Reset()
	buf, have, beginning := w.buf, 0, ""
	for err == nil {
		if have == len(buf) { // an event that is larger
			buf = append(buf, make([]byte, len(buf))...)
		}
		var n int
		n, err = io.ReadFull(text, buf[have:])
		have += n
		if beginning == "" {
			beginning = string(buf[:min(have, 4<<10)])
		}
		// A line that is not whole would be parsed in vain.
		n = w.reader.Read(buf[:cmp.Or(bytes.LastIndexByte(buf[:have], '\n')+1, have)])
		have = copy(buf, buf[n:have])
		w.flush()
		runtime.Gosched() // else a garbage collection takes long, and makes all slower until it ends
	}
	if ctx.Err() == nil { // otherwise the text is not complete, and the reader must not judge the rest
		w.reader.Close(buf[:have])
	}
	p.lines, p.OtherLines = w.reader.Counts()
	if w.flush(); p.Decisions == 0 {
		p.Unrecognised = beginning
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package report reads decision logs of Open Policy Agent (OPA) and reports
// where the time went.
//
// [Read] finds the files and cuts them into parts. Package decisionlog reads
// the events in the parts, and package groupby folds the events into groups.
// The result is [Data], which can be saved, loaded and merged. Data.Report
// makes a [Report], which can be written as a table, Markdown, JSON, CSV or a
// page.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regometer/regometer/decisionlog"
)

// Read reads decision logs. It counts the problems of the logs, which are not
// errors. If ctx ends, Read returns the data that it has read until then,
// marked as interrupted.
//
// The data depend on the options and on the content of the files, and not on
// the number of workers.
func Read(ctx context.Context, o Options) (*Data, error) {
	x, err := read(ctx, o, runtime.GOOS == "linux")
	if errors.Is(err, errNotMapped) {
		x, err = read(ctx, o, false)
	}
	return x, err
}

// errNotMapped is the error if a file cannot be read where it is mapped into
// memory, because it became shorter or its disk has a fault. Reading the file
// in the usual way shows the cause.
var errNotMapped = errors.New("a file could not be read where it was mapped into memory")

// read is Read. It maps files into memory only if mayMap is true, and if all
// inputs can be read again.
func read(ctx context.Context, o Options, mayMap bool) (*Data, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	files, err := InputFiles(o.Inputs)
	if err != nil {
		return nil, err
	}
	r := &reading{Options: o, start: time.Now(), jobs: make(chan job, jobsAhead), mayMap: mayMap && o.Each == nil}
	whole := ctx // the new ctx also ends if Each fails
	ctx, r.fail = context.WithCancelCause(ctx)
	defer r.fail(nil)
	known := true // the sizes of all inputs
	for _, name := range files {
		r.inputs = append(r.inputs, &input{name: name})
		info, err := os.Stat(name)
		switch {
		case name == standardInput:
			known, r.mayMap = false, false
		case err != nil || !info.Mode().IsRegular():
			known = false
		case IsSaved(name):
			if _, err := Load(name); errors.Is(err, errOld) {
				return nil, err
			}
			return nil, fmt.Errorf("%s is a saved report, not a decision log: use regometer merge, which prints and merges saved reports", name)
		default:
			r.of += info.Size()
		}
	}
	if !known {
		r.of = 0
	}
	workers := make([]*worker, o.Workers)
	for i := range workers {
		if workers[i], err = newWorker(r); err != nil {
			return nil, err
		}
	}
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for j := range r.jobs {
				w.do(ctx, j)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, in := range r.inputs {
			r.open(ctx, in)
		}
		close(r.jobs)
		wg.Wait()
	}()
	r.reportProgress(done)
	if err := context.Cause(ctx); err != nil && whole.Err() == nil {
		return nil, err
	}
	return r.data(workers, whole.Err() != nil)
}

// data returns the data of all workers.
func (r *reading) data(workers []*worker, interrupted bool) (*Data, error) {
	all := workers[0].sum
	for i, w := range workers {
		w.sum.slowest.place()
		if i > 0 {
			if err := all.Merge(w.sum); err != nil {
				return nil, err
			}
		}
	}
	for _, in := range r.inputs {
		all.inputs.merge(in.sum())
	}
	all.inputs.Files, all.inputs.Bytes = int64(len(r.inputs)), r.bytes.Load()
	all.interrupted = interrupted
	return all, nil
}

// reading is one call of Read.
type reading struct {
	Options
	start  time.Time
	inputs []*input
	of     int64 // bytes of all inputs, or 0 if their sizes are unknown
	mayMap bool  // files may be mapped into memory
	jobs   chan job
	fail   context.CancelCauseFunc

	bytes     atomic.Int64 // read so far
	decisions atomic.Int64
	exact     atomic.Int64 // durations that are kept
}

// An input is a file, or standard input.
type input struct {
	name  string
	parts []*part // in the order of the text
}

// A part is text of an input that one reader reads.
type part struct {
	Inputs  // its decisions, other lines and problems; lines count from its beginning
	input   *input
	number  int // in the input
	lines   int64
	failure string // the problem if the file cannot be read, or ""
}

// order returns the number of a part in its input, or 0 for nil.
func (p *part) order() int {
	if p == nil {
		return 0
	}
	return p.number
}

// firstLine returns the number of lines before a part in its file.
func (p *part) firstLine() (lines int64) {
	for _, o := range p.input.parts[:p.number] {
		lines += o.lines
	}
	return lines
}

// sum returns the inputs of all parts, with lines of the file.
func (in *input) sum() *Inputs {
	all, line, failed := new(Inputs), int64(0), false
	for _, p := range in.parts {
		for _, problem := range p.Problems {
			for i := range problem.First {
				problem.First[i].Line += line
			}
		}
		all.merge(&p.Inputs)
		line += p.lines
		if p.failure != "" && !failed { // once, also if several parts fail
			all.problem(p.failure, 1, Place{in.name, max(line, 1)})
			failed = true
		}
	}
	if all.Decisions == 0 && (line > 0 || len(all.Problems) > 0) {
		all.problem(NoDecisionLog, 1, Place{in.name, 1})
	}
	if first, _, _ := strings.Cut(all.Unrecognised, "\n"); all.Decisions == 0 && first != "" {
		all.Unrecognised = in.name + " begins with: " + first
	} else {
		all.Unrecognised = ""
	}
	return all
}

// A job is a part to read.
type job struct {
	part  *part
	text  io.Reader // nil if the part is to be mapped: see file
	close func()

	file     *os.File // to be mapped from one offset to another
	from, to int64
}

// jobsAhead limits the jobs that wait for a worker. There must be several,
// because the goroutine that finds them gets no processor while the workers use
// all.
const jobsAhead = 16

// newPart adds a part to an input.
func (in *input) newPart() *part {
	p := &part{input: in, number: len(in.parts)}
	in.parts = append(in.parts, p)
	return p
}

// open opens an input and hands out its parts.
func (r *reading) open(ctx context.Context, in *input) {
	if ctx.Err() != nil {
		return
	}
	if in.name == standardInput {
		r.send(in, readAhead(ctx, r.counted(ctx, r.Stdin), func() {}), func() {})
		return
	}
	if info, err := os.Stat(in.name); err == nil && !info.Mode().IsRegular() {
		pipe := &opened{name: in.name}
		r.send(in, readAhead(ctx, r.counted(ctx, pipe), pipe.close), func() {})
		return
	}
	f, err := os.Open(in.name)
	if err != nil {
		in.newPart().failure = Unreadable
		return
	}
	done := func() { f.Close() }
	info, err := f.Stat()
	if err != nil {
		done()
		in.newPart().failure = Unreadable
		return
	}
	head := make([]byte, len(zstdMagic))
	n, _ := f.ReadAt(head, 0)
	if info.Size() < 2*leastPart || isCompressed(head[:n]) {
		r.send(in, r.counted(ctx, f), done)
		return
	}
	r.cut(ctx, in, f, info.Size())
}

// leastPart and greatestPart roughly limit the size of a part of a large file.
// Tests lower them.
var (
	leastPart    int64 = 4 << 20
	greatestPart int64 = 32 << 20
)

// cut hands out a large file in parts. A part begins at a boundary, where a
// reader need not know the text before.
func (r *reading) cut(ctx context.Context, in *input, f *os.File, size int64) {
	var users atomic.Int64
	users.Store(1)
	done := func() {
		if users.Add(-1) == 0 {
			f.Close()
		}
	}
	defer done()
	send := func(from, to int64) {
		users.Add(1)
		if r.mayMap {
			r.jobs <- job{part: in.newPart(), close: done, file: f, from: from, to: to}
		} else {
			r.send(in, r.counted(ctx, io.NewSectionReader(f, from, to-from)), done)
		}
	}
	from, fruitless := int64(0), 0
	// Parts are small enough for workers to end at about the same time, and
	// large enough to be worth beginning one.
	partSize := min(max(size/int64(16*r.Workers), leastPart), greatestPart)
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
}

// maxFruitless limits the parts without a boundary. After that many the text is
// probably of a kind that has none, and cut stops looking.
const maxFruitless = 4

// boundary returns the offset of a boundary shortly before at, or 0 if it finds
// none.
func boundary(f *os.File, at int64) int64 {
	for _, size := range [...]int64{1 << 16, blockSize} {
		from := max(at-size, 0)
		text := make([]byte, at-from)
		n, _ := f.ReadAt(text, from)
		if b := decisionlog.Boundary(text[:n]); b > 0 {
			return from + int64(b)
		}
	}
	return 0
}

// send hands out a part. Reading the text must fail once the context has ended.
func (r *reading) send(in *input, text io.Reader, done func()) {
	r.jobs <- job{part: in.newPart(), text: text, close: done}
}

// counted returns a reader that counts bytes and fails once ctx has ended.
func (r *reading) counted(ctx context.Context, from io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := from.Read(p)
		r.bytes.Add(int64(n))
		return n, err
	})
}

// opened is a file that is opened when it is first read. Opening a named pipe
// waits for a writer, and an interrupt must not wait for that.
type opened struct {
	name string
	file *os.File
}

func (o *opened) Read(p []byte) (n int, err error) {
	if o.file == nil {
		if o.file, err = os.Open(o.name); err != nil {
			return 0, err
		}
	}
	return o.file.Read(p)
}

func (o *opened) close() { o.file.Close() } // which a nil file allows

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The problems of files, besides those of package decisionlog.
const (
	Unreadable    = "unreadable"      // the file, or the rest of it, cannot be read
	Damaged       = "damaged"         // a part of a compressed file cannot be read
	NoDecisionLog = "no_decision_log" // the file is not empty, and has no event
)

// blockSize is the size of the text that is read at a time.
const blockSize = 1 << 20

// do reads a part.
func (w *worker) do(ctx context.Context, j job) {
	defer j.close()
	w.begin(j.part)
	if j.file != nil {
		w.readMapped(ctx, j)
		return
	}
	text, err := decompressed(ctx, j.text)
	buf, have := w.buf, 0
	for err == nil {
		if have == len(buf) { // an event that is larger
			buf = append(buf, make([]byte, len(buf))...)
		}
		var n int
		n, err = io.ReadFull(text, buf[have:])
		have += n
		n = w.reader.Read(buf[:have])
		have = copy(buf, buf[n:have])
		w.flush()
	}
	w.end(ctx, buf[:have])
	switch {
	case ctx.Err() != nil, errors.Is(err, io.EOF), err == io.ErrUnexpectedEOF: //nolint:errorlint // ReadFull's own
	case errors.Is(err, errDamaged):
		j.part.failure = Damaged
	default:
		j.part.failure = Unreadable
	}
}

// mostMapped roughly limits the bytes that all workers together map into memory
// at a time. The larger it is, the less often the system must tell all
// processors that a mapping is gone. Tests lower it.
var mostMapped int64 = 48 << 20

// readMapped reads a part that it maps into memory.
func (w *worker) readMapped(ctx context.Context, j job) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			if _, ok := fault.(interface{ Addr() uintptr }); !ok {
				panic(fault)
			}
			w.fail(errNotMapped)
		}
	}()
	size := max(mostMapped/int64(w.Workers), leastPart/4) // or an event if that is larger
	for j.from < j.to && ctx.Err() == nil {
		end := min(j.from+size, j.to)
		text, unmap := mapFile(j.file, j.from, end)
		if text == nil {
			w.fail(errNotMapped)
			return
		}
		n := w.readWindow(ctx, text, unmap, end == j.to)
		w.bytes.Add(int64(n))
		w.flush()
		if j.from += int64(n); n == 0 {
			size *= 2
		}
	}
}

// readWindow reads mapped text, and reads it to the end if it is the last of
// its part. It returns the length of the text that need not be read again.
func (w *worker) readWindow(ctx context.Context, text []byte, unmap func(), last bool) int {
	defer unmap()
	n := w.reader.Read(text)
	if last {
		w.end(ctx, text[n:])
		n = len(text)
	}
	return n
}

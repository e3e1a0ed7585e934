// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regometer/regometer/decisionlog"
)

// Read reads decision logs and returns what they came to. What is wrong with
// the logs is in the report, not an error; nor is it one if ctx ends meanwhile:
// then the report is of what was read until then, and says so.
//
// The report depends on the options and on what is in the files, and not on how
// many workers read them.
func Read(ctx context.Context, o Options) (*Report, error) {
	x, err := ReadRollup(ctx, o)
	if err != nil {
		return nil, err
	}
	return x.Report(), nil
}

// ReadRollup is Read of what a report is made of.
func ReadRollup(ctx context.Context, o Options) (*Rollup, error) {
	x, err := read(ctx, o, true)
	if errors.Is(err, errNotMapped) {
		x, err = read(ctx, o, false)
	}
	return x, err
}

// errNotMapped is what happens if a file that is mapped into memory cannot be
// read there: it became shorter meanwhile, or its disk has a fault. By reading
// it in the usual way we learn what it is.
var errNotMapped = errors.New("a file could not be read where it was mapped into memory")

// read is ReadRollup. Files are mapped into memory if they may be, and if all
// can be read once more.
func read(ctx context.Context, o Options, mayMap bool) (*Rollup, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	files, stdin, err := findFiles(o.Inputs)
	if err != nil {
		return nil, err
	}
	r := &reading{Options: o, start: time.Now(), jobs: make(chan job, jobsAhead), mayMap: mayMap && !stdin && o.Each == nil}
	whole := ctx // ctx ends if Each fails, too
	ctx, r.fail = context.WithCancelCause(ctx)
	defer r.fail(nil)
	for _, f := range files {
		if f.info.Mode().IsRegular() && IsSaved(f.name) {
			return nil, fmt.Errorf("%s is no decision log, but a report that was saved: regometer merge prints such, and merges them", f.name)
		}
		r.inputs = append(r.inputs, &input{name: f.name})
		if f.info.Mode().IsRegular() {
			r.of += f.info.Size()
		} else {
			r.unknown = true
		}
	}
	if stdin {
		r.inputs = append(r.inputs, &input{name: standardInput})
		r.unknown = true
	}

	workers := make([]*worker, o.Workers)
	for i := range workers {
		if workers[i], err = newWorker(r); err != nil {
			return nil, err
		}
	}
	stopProgress := r.reportProgress()
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for j := range r.jobs {
				w.do(ctx, j)
			}
		})
	}
	for _, in := range r.inputs {
		r.open(ctx, in)
	}
	close(r.jobs)
	wg.Wait()
	stopProgress()
	if err := context.Cause(ctx); err != nil && whole.Err() == nil {
		return nil, err
	}
	return r.rollup(workers, whole.Err() != nil)
}

// rollup returns what the workers have, together.
func (r *reading) rollup(workers []*worker, interrupted bool) (*Rollup, error) {
	all := workers[0].rollup()
	for _, w := range workers[1:] {
		if err := all.Merge(w.rollup()); err != nil {
			return nil, err
		}
	}
	all.inputs = inputs{files: int64(len(r.inputs)), bytes: r.bytes.Load(), decisions: r.decisions.Load()}
	for _, in := range r.inputs {
		in.tell(&all.inputs)
	}
	all.interrupted = interrupted
	return all, nil
}

// reading is one call of Read.
type reading struct {
	Options
	start   time.Time
	inputs  []*input
	of      int64 // bytes of all files
	unknown bool  // there are inputs whose size is not known
	mayMap  bool  // files may be mapped into memory
	jobs    chan job
	fail    context.CancelCauseFunc

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
	input     *input
	number    int // in the input
	lines     int64
	decisions int64
	other     int64
	problems  map[decisionlog.Problem]*problem
	failure   string // of reading the file: its kind as a problem
}

// A problem is how often there was one in a part, and the first lines.
type problem struct {
	count int64
	first []int64 // of the part
}

func (p *part) problem(kind decisionlog.Problem, line int64) {
	at := p.problems[kind]
	if at == nil {
		if p.problems == nil {
			p.problems = map[decisionlog.Problem]*problem{}
		}
		at = &problem{}
		p.problems[kind] = at
	}
	at.count++
	// Lines do not come in order: an event that is in several lines comes
	// after those between them.
	if n := len(at.first); n < firstPlaces || line < at.first[n-1] {
		i, _ := slices.BinarySearch(at.first, line)
		at.first = slices.Insert(at.first, i, line)
		at.first = at.first[:min(n+1, firstPlaces)]
	}
}

// order returns the number of a part in its input, or 0 of nil.
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

// tell adds what is not of the decisions to that of all inputs.
func (in *input) tell(to *inputs) {
	line, decisions, something, failed := int64(0), int64(0), false, false
	for _, p := range in.parts {
		to.otherLines += p.other
		for kind, of := range p.problems {
			places := make([]Place, len(of.first))
			for i, l := range of.first {
				places[i] = Place{in.name, line + l}
			}
			to.problem(string(kind), of.count, places...)
			something = true
		}
		line += p.lines
		decisions += p.decisions
		if p.failure != "" && !failed { // however many parts of the rest
			to.problem(p.failure, 1, Place{in.name, max(line, 1)})
			something, failed = true, true
		}
	}
	if decisions == 0 && line > 0 || something && decisions == 0 {
		to.problem(NoDecisionLog, 1, Place{in.name, 1})
	}
}

// A job is a part to read.
type job struct {
	part  *part
	text  io.Reader
	close func()

	// The file that text is of, and where, if it may be mapped.
	file     *os.File
	from, to int64
}

// jobsAhead is how many jobs may wait: who looks for them gets no processor
// while all workers have one.
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
	f, err := os.Open(in.name)
	if err != nil {
		in.newPart().failure = Unreadable
		return
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		r.send(in, readAhead(ctx, r.counted(ctx, f), func() {}), func() { f.Close() })
		return
	}
	if info.Size() < 2*leastPart {
		r.send(in, r.counted(ctx, f), func() { f.Close() })
		return
	}
	head := make([]byte, len(zstdMagic))
	if n, _ := f.ReadAt(head, 0); isCompressed(head[:n]) {
		r.send(in, r.counted(ctx, f), func() { f.Close() })
		return
	}
	r.cut(ctx, in, f, info.Size())
}

// leastPart and greatestPart limit about how large a part of a large file is.
// They are less in a test.
var (
	leastPart    int64 = 4 << 20
	greatestPart int64 = 32 << 20
)

// partSize returns about how much of a file is one part: so much that workers
// end at about the same time, and no less than it takes to begin one.
func (r *reading) partSize(size int64) int64 {
	return min(max(size/int64(16*r.Workers), leastPart), greatestPart)
}

// cut hands out a large file in parts, which begin where a reader need not know
// what is before.
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
		j := job{part: in.newPart(), text: r.counted(ctx, io.NewSectionReader(f, from, to-from)), close: done}
		if r.mayMap {
			j.file, j.from, j.to = f, from, to
		}
		r.jobs <- j
	}
	from, fruitless, partSize := int64(0), 0, r.partSize(size)
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

// maxFruitless is after how many parts without a boundary none is looked for
// any more: then the text is of a kind that has none.
const maxFruitless = 4

// boundary returns a boundary of the text close before the offset at, or 0.
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

// send hands out a part. If ctx has ended, who reads it learns that from text.
func (r *reading) send(in *input, text io.Reader, done func()) {
	r.jobs <- job{part: in.newPart(), text: text, close: done}
}

// counted counts what is read of from, until ctx ends.
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

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The problems of files, beside those of package decisionlog.
const (
	Unreadable    = "unreadable"      // the file, or the rest of it, cannot be read
	Damaged       = "damaged"         // so can a part of a compressed file
	NoDecisionLog = "no_decision_log" // there is something in the file, but no event
)

// blockSize is how much text is read at a time.
const blockSize = 1 << 20

// do reads a part.
func (w *worker) do(ctx context.Context, j job) {
	defer j.close()
	w.begin(j.part)
	if j.file != nil && w.readMapped(ctx, j) {
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
	var d damage
	switch {
	case ctx.Err() != nil, errors.Is(err, io.EOF), err == io.ErrUnexpectedEOF: //nolint:errorlint // ReadFull's own
	case errors.As(err, &d):
		j.part.failure = Damaged
	default:
		j.part.failure = Unreadable
	}
}

// mostMapped is about how much of the files all workers together map into
// memory at a time: the more in one go, the less often must the system tell all
// processors that it is gone. It is less in a test.
var mostMapped int64 = 48 << 20

// readMapped reads a part that it maps into memory, and reports whether that
// could be begun.
func (w *worker) readMapped(ctx context.Context, j job) (begun bool) {
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
	for seen := j.from; ctx.Err() == nil; {
		end := min(j.from+size, j.to)
		text, unmap := mapFile(j.file, j.from, end)
		if text == nil {
			if begun {
				w.fail(errNotMapped)
			}
			return begun
		}
		begun = true
		n := w.readWindow(ctx, text, unmap, end == j.to)
		w.bytes.Add(max(0, end-seen))
		w.flush()
		if end == j.to {
			break
		}
		seen = max(seen, end)
		if j.from += int64(n); n == 0 {
			size *= 2
		}
	}
	return begun
}

// readWindow reads mapped text, to the end if it is the last of its part, and
// returns how much of it needs not be read again.
func (w *worker) readWindow(ctx context.Context, text []byte, unmap func(), last bool) int {
	defer unmap()
	n := w.reader.Read(text)
	if last {
		w.end(ctx, text[n:])
	}
	return n
}

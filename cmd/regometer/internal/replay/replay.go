// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay evaluates the decisions of a log again. It tells which results
// differ, and which rules take the time.
package replay

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/cmd/regometer/internal/compare"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/rollup"
)

// Options configures [Run].
type Options struct {
	Read    report.Options
	Files   []report.InputFile // of Read.Inputs
	Policy  *Policy
	Against *Policy // the policy to compare with, or nil for the log
	// Thresholds are for [Report.Checks].
	Thresholds []Threshold
	All        bool          // evaluate all decisions, and not a sample
	Inputs     bool          // keep the inputs of examples
	Timeout    time.Duration // limits an evaluation
	Memory     int64         // limits the memory of the process, in bytes; 0 for no limit
}

// Report is what a replay found.
type Report struct {
	thresholds []Threshold

	Logged uint64 `json:"logged"` // decisions of the log
	All    bool   `json:"all"`    // all of them were evaluated, and not a sample
	// Interrupted says that the replay ended early.
	Interrupted bool `json:"interrupted"`
	// Unread has the problems of decisions that could not be read, and Partly
	// says that these are more than 1 % of all, or that nobody knows how many.
	Unread string `json:"unread,omitempty"`
	Partly bool   `json:"partly_read"`
	// OtherRevision is the number of decisions that a policy of another revision
	// has made.
	OtherRevision uint64 `json:"other_revision"`
	// Unlike is the number of decisions for which the other policy, if there is
	// one, has another result than the log.
	Unlike uint64 `json:"unlike_log"`
	Results
	Paths   []Path   `json:"paths"` // by number of decisions
	Profile *Profile `json:"profile"`

	Times  *compare.Comparison `json:"-"` // with those of the other policy
	Inputs *report.Inputs      `json:"-"`
}

// Path has the results of a path.
type Path struct {
	Path string `json:"path"`
	// The durations of the evaluations in the log, and in the replay.
	Logged   Quantiles `json:"logged"`
	Replayed Quantiles `json:"replayed"`
	Results
}

// Run reads a log and evaluates its decisions again. If ctx ends, or the memory,
// it returns what was done until then.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	soft := used() + softRoom // the garbage collector works harder beyond it
	if o.Memory > 0 {
		soft = min(soft, o.Memory/10*9)
		go watchMemory(ctx, o.Memory, cancel)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(soft))
	}
	r := &Report{thresholds: o.Thresholds}
	var workers []*worker
	for range runtime.GOMAXPROCS(0) {
		workers = append(workers, newWorker(&o))
	}
	var s sample
	var logged, readers atomic.Uint64
	o.Read.Workers = len(workers)
	o.Read.Each = func(key func(int32) string, place func(*logread.Event) func() report.Place) func(*logread.Event, [][]byte) error {
		w := workers[readers.Add(1)-1]
		return func(e *logread.Event, _ [][]byte) error {
			logged.Add(1)
			if took := durationOf(e, key); o.All {
				w.replay(ctx, newDecision(e, took, place(e)))
			} else {
				s.add(e, took, place)
			}
			return nil
		}
	}
	x, err := report.ReadFiles(ctx, o.Read, o.Files)
	if err != nil {
		return nil, err
	}
	decisions := s.decisions()
	r.All = o.All || uint64(len(decisions)) == logged.Load()
	replayAll(ctx, workers, decisions)
	r.Logged, r.Inputs, r.Interrupted = logged.Load(), &x.Report().Inputs, ctx.Err() != nil
	r.Unread, r.Partly = r.Inputs.Unread()
	all, tracers := workers[0], []*tracer{workers[0].tracer}
	for _, w := range workers[1:] {
		tracers = append(tracers, w.tracer)
		if err := all.merge(w); err != nil {
			return nil, err
		}
	}
	if r.Profile, err = profileOf(tracers); err != nil {
		return nil, err
	}
	r.OtherRevision = all.otherRevision
	for _, path := range slices.Sorted(maps.Keys(all.paths)) {
		p := all.paths[path]
		for i := range p.Examples {
			p.Examples[i].Place = p.Examples[i].place()
		}
		r.Results.add(p)
		r.Paths = append(r.Paths, Path{path, all.logged.quantiles(path), all.replayed.quantiles(path), *p})
	}
	r.Examples = nil // each path has its own
	slices.SortStableFunc(r.Paths, func(a, b Path) int { return cmp.Compare(b.Decisions, a.Decisions) })
	if all.old != nil {
		r.Unlike = all.unlike
		var times []compare.Threshold
		for _, t := range o.Thresholds {
			if t.IsTime() {
				times = append(times, t.time)
			}
		}
		if r.Times, err = compare.Reports(all.before.report(r.Paths), all.replayed.report(r.Paths), times...); err != nil {
			return nil, err
		}
	}
	if errors.Is(context.Cause(ctx), errNoMemory) {
		return r, errNoMemory
	}
	return r, nil
}

var errNoMemory = errors.New("--memory: the replay would need more memory; the report has what was done until then")

// softRoom is the memory that a replay should need beside the policies, in bytes.
const softRoom = 120 << 20

// used returns the memory of the process, in bytes.
func used() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// watchMemory cancels a context when the process needs more than limit bytes.
func watchMemory(ctx context.Context, limit int64, cancel context.CancelCauseFunc) {
	for ctx.Err() == nil {
		if used() > limit {
			cancel(errNoMemory)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// replayAll evaluates decisions with several workers.
func replayAll(ctx context.Context, workers []*worker, decisions []*decision) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(decisions)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				w.replay(ctx, decisions[i])
			}
		})
	}
	wg.Wait()
}

// A worker evaluates decisions, and adds up what it finds.
type worker struct {
	*evaluator
	old      *evaluator // of the other policy, or nil
	verdicts *verdicts.Set
	inputs   bool

	tracer        *tracer
	paths         map[string]*Results
	otherRevision uint64
	unlike        uint64

	logged, replayed, before durations
}

// maxPaths limits the paths with results of their own.
const maxPaths = 10_000

func newWorker(o *Options) *worker {
	w := &worker{
		evaluator: newEvaluator(o.Policy, o.Timeout), verdicts: o.Read.Verdicts, inputs: o.Inputs, tracer: newTracer(o.Policy), paths: map[string]*Results{},
		logged: newDurations(), replayed: newDurations(), before: newDurations(),
	}
	if o.Against != nil {
		w.old = newEvaluator(o.Against, o.Timeout)
	}
	return w
}

// replay evaluates a decision, unless ctx has ended.
func (w *worker) replay(ctx context.Context, d *decision) {
	var v verdict
	var kind string
	switch input, err := d.parse(); {
	case d.partial:
		v, kind = notRepeatable, "a partial evaluation"
	case err != nil:
		v, kind = notRepeatable, "an input that cannot be read"
	default:
		v, kind = w.compare(ctx, d, input)
	}
	if ctx.Err() != nil {
		return
	}
	one := Results{Decisions: 1, of: map[string]float64{"": d.of, verdictNames[v]: d.of}}
	*[...]*uint64{equal: &one.Equal, changed: &one.Changed, apart: &one.Apart, notRepeatable: &one.NotRepeatable}[v] = 1
	if v != equal {
		x := Example{Kind: kind, ID: d.id, hash: d.hash, place: d.place}
		if w.inputs {
			x.Input = string(d.input)
		}
		one.Kinds, one.Examples, one.of[kind] = map[string]uint64{kind: 1}, []Example{x}, d.of
	}
	w.resultsOf(d.path).add(&one)
	if w.isOther(d.revisions) {
		w.otherRevision++
	}
}

// compare evaluates a decision, and compares the result with the log's, or with
// that of the other policy. The two policies take turns in going first.
func (w *worker) compare(ctx context.Context, d *decision, input ast.Value) (v verdict, kind string) {
	var a, before answer
	if w.old != nil && d.hash&1 == 0 {
		before = w.old.evaluate(ctx, d, input)
	}
	a = w.evaluate(ctx, d, input)
	if w.old != nil && d.hash&1 == 1 {
		before = w.old.evaluate(ctx, d, input)
	}
	if ctx.Err() != nil {
		return v, ""
	}
	w.logged.add(d.path, time.Duration(d.took))
	w.replayed.add(d.path, a.took)
	logged, err := d.logged()
	if err != nil {
		return notRepeatable, "a result that cannot be read"
	}
	if w.old == nil {
		v, kind = w.judge(d, &logged, &a, true)
	} else {
		w.before.add(d.path, before.took)
		if v, _ := w.judge(d, &logged, &before, true); v == changed {
			w.unlike++
		}
		v, kind = w.judge(d, &before, &a, false)
	}
	w.trace(ctx, d, input, &a)
	return v, kind
}

// trace evaluates a decision again, and measures how long each line takes. a is
// the answer of the evaluation before, which was not traced.
func (w *worker) trace(ctx context.Context, d *decision, input ast.Value, a *answer) {
	if a.took == 0 || ctx.Err() != nil {
		return
	}
	w.tracer.begin(d.path, d.of)
	if traced := w.evaluate(ctx, d, input, w.tracer); ctx.Err() == nil {
		w.tracer.end(traced.took, a.took)
	}
}

func (w *worker) resultsOf(path string) *Results {
	r := w.paths[path]
	if r == nil {
		if len(w.paths) >= maxPaths {
			path = rollup.Other
		}
		r = cmp.Or(w.paths[path], new(Results))
		w.paths[path] = r
	}
	return r
}

// isOther reports whether none of a decision's revisions, which are written as
// name=revision, is one of the policy's. Only bundles have revisions.
func (p *Policy) isOther(revisions []byte) bool {
	all := "," + string(revisions) + ","
	return len(p.revisions) > 0 && len(revisions) > 0 && !slices.ContainsFunc(p.revisions, func(r string) bool {
		return strings.Contains(all, "="+r+",") || strings.Contains(all, ","+r+",")
	})
}

// merge adds what another worker has found.
func (w *worker) merge(o *worker) error {
	for path, r := range o.paths {
		w.resultsOf(path).add(r)
	}
	w.otherRevision += o.otherRevision
	w.unlike += o.unlike
	return cmp.Or(w.logged.Merge(o.logged.Groups), w.replayed.Merge(o.replayed.Groups), w.before.Merge(o.before.Groups))
}

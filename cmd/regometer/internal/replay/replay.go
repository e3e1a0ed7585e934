// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay evaluates the decisions of a log again. It tells which results
// differ, and which rules take the time.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/rollup"
)

// Options configures [Run].
type Options struct {
	Read    report.Options
	Policy  *Policy
	Against *Policy // the policy to compare with, or nil for the log
	// Thresholds are for [Report.Checks].
	Thresholds Thresholds
	All        bool          // evaluate all decisions, and not a sample
	Inputs     bool          // keep the inputs of examples
	Timeout    time.Duration // limits an evaluation
	Memory     int64         // limits the memory of the process, in bytes; 0 for no limit
	// Progress, if not nil, is called with a line when the evaluation of a decision
	// of a sample begins.
	Progress func(elapsed time.Duration, line any)
}

// Report is what a replay found.
type Report struct {
	options Options

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
	Results
	Paths   []*Path  `json:"paths"` // by number of decisions
	Profile *Profile `json:"profile"`

	Times  *compare.Comparison `json:"times,omitempty"` // with those of the other policy
	Inputs *report.Inputs      `json:"-"`

	mu    sync.Mutex // protects the counts, and:
	paths map[string]*Path
	times *groupby.Groups // by side and path: see addTime
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
	if err := o.Read.Check(); err != nil {
		return nil, err
	}
	begin := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	soft := used() + softRoom // the garbage collector works harder beyond it
	errNoMemory := fmt.Errorf("--memory: the replay needs about %s, and more for evaluations that need much; "+
		"the report has what was done until then", text.Bytes(used()+int64(2*sampleBytes)))
	if o.Memory > 0 {
		soft = min(soft, o.Memory/10*9)
		go watchMemory(ctx, o.Memory, func() { cancel(errNoMemory) })
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(soft))
	}
	r := &Report{options: o, paths: map[string]*Path{}, times: groupby.New(groupby.Limits{Groups: 3 * maxPaths, Cells: 12 * maxPaths})}
	decisions := make(chan *decision, 16)
	var tracers []*tracer
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		w := newWorker(ctx, &o)
		w.done = r.add
		tracers = append(tracers, w.tracer)
		workers.Go(func() {
			for d := range decisions {
				w.replay(d)
			}
		})
	}
	s := newSample()
	var logged atomic.Uint64
	o.Read.Each = func(key func(int32) string, place func(*logread.Event) func() report.Place) func(*logread.Event, [][]byte) error {
		return func(e *logread.Event, _ [][]byte) error {
			logged.Add(1)
			if took := durationOf(e, key); o.All {
				decisions <- newDecision(e, took, place(e))
			} else {
				s.add(e, took, place)
			}
			return nil
		}
	}
	x, err := report.Read(ctx, o.Read)
	if err == nil {
		kept := s.decisions()
		r.All = o.All || uint64(len(kept)) == logged.Load()
		for i := 0; i < len(kept) && ctx.Err() == nil; i++ {
			if decisions <- kept[i]; o.Progress != nil {
				o.Progress(time.Since(begin), fmt.Sprintf("evaluated %s of %s", text.Count(i), text.Plural(len(kept), "decision")))
			}
		}
	}
	close(decisions)
	workers.Wait()
	if err != nil {
		return nil, err
	}
	r.Logged, r.Inputs, r.Interrupted = logged.Load(), x.Inputs(), ctx.Err() != nil
	r.Unread, r.Partly = r.Inputs.Unread()
	r.Profile = profileOf(tracers...)
	for path, p := range r.paths {
		p.Path, p.Logged, p.Replayed = path, r.quantiles(inLog, path), r.quantiles(inReplay, path)
		for _, kind := range slices.Sorted(maps.Keys(p.examples)) {
			for _, x := range p.examples[kind] {
				x.Place = x.place()
				p.Examples = append(p.Examples, x)
			}
		}
		r.Paths = append(r.Paths, p)
	}
	slices.SortFunc(r.Paths, func(a, b *Path) int {
		return cmp.Or(cmp.Compare(b.Decisions, a.Decisions), cmp.Compare(a.Path, b.Path))
	})
	if o.Against != nil {
		if r.Times, err = compare.Reports(r.sideOf(inOther), r.sideOf(inReplay), o.Thresholds.Times...); err != nil {
			return nil, err
		}
		r.Times.Decisions = nil // the sides have no outcomes
	}
	if errors.Is(context.Cause(ctx), errNoMemory) {
		return r, errNoMemory
	}
	return r, nil
}

// maxPaths limits the paths with results of their own.
const maxPaths = 10_000

// add adds what became of a decision.
func (r *Report) add(d *decision, f finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := string(d.Path)
	if r.paths[path] == nil && len(r.paths) >= maxPaths {
		path = rollup.Other
	}
	p := cmp.Or(r.paths[path], new(Path))
	r.paths[path] = p
	r.Results.add(d, f)
	p.Results.add(d, f)
	if f.verdict != equal {
		x := Example{Kind: f.kind, ID: string(d.DecisionID), hash: d.hash, place: d.place}
		if r.options.Inputs {
			x.Input = string(d.Input)
		}
		p.example(x)
	}
	if r.options.Policy.isOther(d.BundleRevisions()) {
		r.OtherRevision++
	}
	if f.took > 0 {
		r.addTime(inLog, path, d.took)
		r.addTime(inReplay, path, int64(f.took))
		r.addTime(inOther, path, int64(f.before))
	}
}

// softRoom is the memory that a replay should need beside the policies, in bytes.
const softRoom = 120 << 20

// used returns the memory of the process, in bytes.
func used() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// watchMemory calls exceeded if the process needs more than limit bytes before ctx
// ends.
func watchMemory(ctx context.Context, limit int64, exceeded func()) {
	for ctx.Err() == nil {
		if used() > limit {
			exceeded()
		}
		sleep(ctx, 10*time.Millisecond)
	}
}

// A worker evaluates decisions.
type worker struct {
	*evaluator
	old      *evaluator // of the other policy, or nil
	verdicts *verdicts.Set
	tracer   *tracer
	reader   *logread.Reader
	decision *decision // which the reader reads
	done     func(*decision, finding)
}

// newWorker returns a worker, which evaluates until ctx ends.
func newWorker(ctx context.Context, o *Options) *worker {
	w := &worker{evaluator: newEvaluator(o.Policy, o.Timeout), verdicts: o.Read.Verdicts, tracer: newTracer(o.Policy)}
	w.reader = logread.NewReader(logread.Options{
		Metric:  func([]byte) int32 { return -1 }, // none is of interest
		Problem: func(logread.Problem, int64) {},  // whoever has read the log before counts them
		Event: func(e *logread.Event) {
			e.Time = max(e.Time, w.decision.time)
			w.decision.Event = e
			if f := w.find(ctx, w.decision); ctx.Err() == nil {
				w.done(w.decision, f)
			}
		},
		Verdicts: w.verdicts,
	})
	if o.Against != nil {
		w.old = newEvaluator(o.Against, o.Timeout)
	}
	return w
}

// A finding is what became of a decision.
type finding struct {
	verdict
	kind string // of a change, or a reason
	// What the evaluation takes with the policy and with the other one, or 0 if
	// there is nothing to evaluate.
	took, before time.Duration
}

// replay reads and evaluates a decision.
func (w *worker) replay(d *decision) {
	w.decision = d
	w.reader.Read(d.text)
}

// compile is in the type of a partial evaluation.
var compile = []byte("compile")

// find evaluates a decision, and compares the result with the log's, or with
// that of the other policy. The two policies take turns in going first.
func (w *worker) find(ctx context.Context, d *decision) (f finding) {
	var input ast.Value // nil without an input in the log
	var err error
	if d.Input != nil {
		input, err = ast.ValueFromReader(bytes.NewReader(d.Input))
	}
	switch {
	case bytes.Contains(d.Text, compile) && bytes.Contains(logread.Field(logread.Field(d.Text, "custom"), "type"), compile):
		return finding{verdict: notRepeatable, kind: "a partial evaluation"}
	case err != nil:
		return finding{verdict: notRepeatable, kind: noJSON}
	}
	before := d.logged()
	turn := func(number uint64) {
		if w.old != nil && d.hash%2 == number {
			before = w.old.evaluate(ctx, d, input)
		}
	}
	turn(0)
	a := w.evaluate(ctx, d, input)
	turn(1)
	f.verdict, f.kind = w.judge(d, &before, &a)
	if ctx.Err() == nil && a.took > 0 && (a.code != "" || a.lacks != lacksPath) {
		f.took, f.before = a.took, before.took
		w.tracer.begin(string(d.Path), d.of)
		w.tracer.end(w.evaluate(ctx, d, input, w.tracer).took, a.took)
	}
	return f
}

// isOther reports whether none of a decision's revisions, which are written as
// name=revision, is one of the policy's. Only bundles have revisions.
func (p *Policy) isOther(revisions []byte) bool {
	all := "," + string(revisions) + ","
	return len(p.revisions) > 0 && len(revisions) > 0 && !slices.ContainsFunc(p.revisions, func(r string) bool {
		return strings.Contains(all, "="+r+",") || strings.Contains(all, ","+r+",")
	})
}

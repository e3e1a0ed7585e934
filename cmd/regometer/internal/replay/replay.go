// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay evaluates the decisions of a log again. It tells which results
// differ, and which rules take the time.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/compare"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
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
	errNoMemory := fmt.Errorf("--memory: the replay needs more than %s, and %s without evaluations that need much; "+
		"the report has what was done until then", text.Bytes(o.Memory), text.Bytes(used()+int64(2*sampleBytes)))
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
		w := newWorker(o.Policy, o.Against, o.Timeout, o.Read.Verdicts)
		tracers = append(tracers, w.tracer)
		workers.Go(func() {
			for d := range decisions {
				if f := w.find(ctx, d); ctx.Err() == nil {
					r.add(d, f)
				}
			}
		})
	}
	s := newSample()
	var logged atomic.Uint64
	o.Read.Each = func(key func(int32) string, place func(*logread.Event) func() report.Place) func(*logread.Event, [][]byte) error {
		return func(e *logread.Event, _ [][]byte) error {
			logged.Add(1)
			took := durationOf(e, key)
			copied := func() *decision { return newDecision(e, took, place(e)) }
			if o.All {
				decisions <- copied()
			} else {
				s.add(e, took, copied)
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
		for _, examples := range p.Examples {
			for _, x := range examples {
				x.Place = x.place()
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
		x := &Example{ID: string(d.DecisionID), hash: d.hash, place: d.place}
		if r.options.Inputs {
			x.Input = string(d.Input)
		}
		p.example(f.kind, x)
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

// sleep waits until ctx ends, or for some time.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Results counts decisions by how their results compare.
type Results struct {
	Decisions     uint64 `json:"decisions"`
	Equal         uint64 `json:"equal"`
	Changed       uint64 `json:"changed"`
	Apart         uint64 `json:"apart"`
	NotRepeatable uint64 `json:"not_repeatable"`
	// Kinds counts the changes by their kind, and the decisions apart or not
	// repeatable by the reason.
	Kinds    map[string]uint64     `json:"kinds,omitempty"`
	Examples map[string][]*Example `json:"examples,omitempty"` // by kind

	// of are the decisions of the log for which these stand: those of a verdict
	// or a kind, and all as "".
	of map[string]float64
}

// An Example is a decision that is not equal.
type Example struct {
	ID    string       `json:"decision_id"`
	Place report.Place `json:"place"`
	Input string       `json:"input,omitempty"` // JSON

	hash  uint64
	place func() report.Place
}

// add adds what became of a decision.
func (r *Results) add(d *decision, f finding) {
	if r.of == nil {
		r.Kinds, r.of, r.Examples = map[string]uint64{}, map[string]float64{}, map[string][]*Example{}
	}
	r.Decisions++
	*[...]*uint64{&r.Equal, &r.Changed, &r.Apart, &r.NotRepeatable}[f.verdict]++
	r.of[""] += d.Of
	r.of[verdictNames[f.verdict]] += d.Of
	if f.kind != "" {
		r.of[f.kind] += d.Of
		r.Kinds[f.kind]++
	}
}

// example keeps an example if its hash is among the lowest of its kind.
func (r *Results) example(kind string, x *Example) {
	all := slices.Concat(r.Examples[kind], []*Example{x})
	slices.SortFunc(all, func(a, b *Example) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ID, b.ID)) })
	r.Examples[kind] = text.First(all, 10)
}

// The sides of the durations of evaluations: the log, the replay, and the replay
// with the other policy. Each side has a group for each path.
const (
	inLog    = "l "
	inReplay = "r "
	inOther  = "o "
)

// perSlice is the number of decisions in a slice of time. A comparison needs
// slices. It takes those of the replay, because both sides take turns in it.
const perSlice, mostSlices = 16, 120

// addTime adds the duration of the latest decision on a side.
func (r *Report) addTime(side, path string, took int64) {
	slice := int64(r.Decisions / perSlice % mostSlices)
	r.times.Add([]byte(side+path), slice*int64(time.Minute), outcome.Neither, "", []logread.Measure{{Metric: r.times.Metric([]byte(evaluation)), Value: took}})
}

func (r *Report) quantiles(side, path string) (q Quantiles) {
	if g := r.times.Get(side+path, false, nil); g != nil {
		q = quantilesOf(&g.Stages[0].Durations)
	}
	return q
}

// sideOf returns the durations of a side as a report, which has no outcomes.
func (r *Report) sideOf(side string) *report.Report {
	var groups []report.Group
	for _, p := range r.Paths {
		if g := r.times.Get(side+p.Path, true, nil); g != nil {
			g.Key, g.Outcomes = p.Path, [6]uint64{}
			groups = append(groups, *g)
		}
	}
	return &report.Report{By: "path", Groups: report.GroupsOf(groups...)}
}

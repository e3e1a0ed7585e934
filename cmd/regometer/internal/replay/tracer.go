// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/exphist"
)

// A tracer measures how long evaluations are in each line of each rule, on each
// way to the rule. The time from an event of the evaluator to the next belongs
// to the line of the first.
type tracer struct {
	policy  *Policy
	queries map[string]*frame // by path; "", which no decision has, has the ways beyond maxFrames
	frames  int
	rules   map[*ast.Rule]*meter
	lookups map[*ast.TreeNode]float64 // how often the index of rules was asked for a name
	costs   *exphist.Histogram        // how many times as long each evaluation took as it was traced, in costUnit
	time    float64                   // ns of all decisions of the log, as they were not traced

	// The evaluation.
	decisions float64       // for which it stands
	start     time.Time     // the first event
	last      time.Duration // the last change of the line, since the start
	at        *line         // where the evaluator works; the clock is read only if it changes
	lines     []*line       // where each query of the evaluation is, such as the body of a rule or a comprehension
	worked    []*line       // where the evaluator has worked
}

// maxFrames limits the ways to rules. Beyond it, rules have one way each.
// maxQueries limits the queries of an evaluation, of which a second has fewer.
// Later ones count as the line before them.
const maxFrames, maxQueries = 50_000, 4 << 20

const costUnit = 1000

// A frame is a rule on one way to it, or the query.
type frame struct {
	rule *ast.Rule // a definition, as one of several, or an else; nil for the query
	*meter
	from  *line
	lines []*line
}

// A line is a line of a frame's rule, or the calls of a built-in function in it.
type line struct {
	*frame
	row         int
	builtin     string // or ""
	calls       []*frame
	traced      time.Duration // of the evaluation
	time, count float64       // ns as it was not traced, and evaluations, of all decisions of the log
}

// A meter has what evaluations need for a rule, with the rules that it needs.
type meter struct {
	evaluated float64
	spans     *exphist.Histogram
	took      float64 // ns of the evaluation
}

func newTracer(p *Policy) *tracer {
	return &tracer{policy: p, queries: map[string]*frame{}, lookups: map[*ast.TreeNode]float64{}, rules: map[*ast.Rule]*meter{}, costs: newHistogram()}
}

func newHistogram() *exphist.Histogram {
	return exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
}

// begin begins an evaluation of a path, which stands for some decisions.
func (t *tracer) begin(path string, decisions float64) {
	if t.frames >= maxFrames {
		path = ""
	}
	t.decisions = decisions
	t.at = t.query(path)
	t.lines = append(t.lines[:0], t.at)
	t.start, t.last = time.Time{}, 0
}

// query returns the only line of a query.
func (t *tracer) query(path string) *line {
	if t.queries[path] == nil {
		t.queries[path] = new(frame)
		t.frames++
	}
	return t.queries[path].line(1, "")
}

func (*tracer) Enabled() bool               { return true }
func (*tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent gets an event of the evaluator.
func (t *tracer) TraceEvent(e topdown.Event) {
	if e.Op == topdown.UnifyOp || e.Op == topdown.NoteOp || e.Op == topdown.SaveOp || e.QueryID >= maxQueries {
		return
	}
	if t.start.IsZero() {
		t.start = time.Now()
	}
	for uint64(len(t.lines)) <= e.QueryID { // a query begins in the line that needs it
		t.lines = append(t.lines, t.lines[min(e.ParentID, uint64(len(t.lines)-1))])
	}
	at := t.lines[e.QueryID]
	switch node := e.Node.(type) {
	case *ast.Rule:
		if e.Op == topdown.EnterOp {
			at = t.callee(t.lines[e.ParentID], node).line(node.Location.Row, "")
			at.evaluated += t.decisions
		}
	case *ast.Expr:
		if e.Op == topdown.IndexOp {
			t.lookups[t.policy.compiler.RuleTree.Find(e.Ref.GroundPrefix())] += t.decisions
			return
		}
		if node.Location != nil && at.rule != nil {
			at = at.frame.line(node.Location.Row, t.policy.builtins[node.OperatorTerm()])
		}
		if e.Op == topdown.EvalOp {
			at.count += t.decisions
		}
	}
	t.lines[e.QueryID] = at
	if _, ok := e.Node.(*ast.Expr); !ok && (e.Op == topdown.ExitOp || e.Op == topdown.FailOp || e.Op == topdown.DuplicateOp) {
		at = t.lines[e.ParentID]
	}
	if at != t.at {
		t.pass(time.Since(t.start))
		t.at = at
	}
}

// pass adds the time since the last change to the line that the evaluator has
// worked on.
func (t *tracer) pass(now time.Duration) {
	if t.at.traced == 0 {
		t.worked = append(t.worked, t.at)
	}
	t.at.traced += max(1, now-t.last)
	t.last = now
}

// callee returns the frame of a rule that a line needs.
func (t *tracer) callee(from *line, rule *ast.Rule) *frame {
	for _, f := range from.calls {
		if f.rule == rule {
			return f
		}
	}
	if others := t.query(""); t.frames >= maxFrames && from != others {
		return t.callee(others, rule)
	}
	if t.rules[rule] == nil {
		t.rules[rule] = &meter{spans: newHistogram()}
	}
	f := &frame{rule: rule, meter: t.rules[rule], from: from}
	from.calls = append(from.calls, f)
	t.frames++
	return f
}

// end ends an evaluation that took some time as it was traced, and another time
// as it was not. Only the shares of lines are those of traced evaluations.
func (t *tracer) end(traced, plain time.Duration) {
	t.pass(max(t.last, traced))
	cost := float64(max(1, t.last)) / float64(max(1, plain))
	t.costs.Record(int64(costUnit * cost))
	t.time += float64(plain) * t.decisions
	for _, l := range t.worked {
		took := float64(l.traced) / cost
		l.time += took * t.decisions
		l.traced = 0
		for f := l.frame; f.rule != nil; f = f.from.frame {
			f.took += took
		}
	}
	for _, l := range t.worked {
		for f := l.frame; f.rule != nil; f = f.from.frame {
			if f.took > 0 { // else it has been recorded
				f.spans.Record(int64(f.took))
				f.took = 0
			}
		}
	}
	t.worked = t.worked[:0]
}

// line returns a line of a frame.
func (f *frame) line(row int, builtin string) *line {
	for _, l := range f.lines {
		if l.row == row && l.builtin == builtin {
			return l
		}
	}
	l := &line{frame: f, row: row, builtin: builtin}
	f.lines = append(f.lines, l)
	return l
}

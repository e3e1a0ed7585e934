// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/exphist"
)

// A tracer measures how long evaluations are in each line of each rule, on each
// way to the rule. The time from an event of the evaluator to the next belongs
// to the line of the first.
type tracer struct {
	policy *Policy
	paths  map[string]*frame // the queries, by path
	frames int

	// The evaluation.
	start     time.Time     // the first event
	last      time.Duration // the last change, since the start
	number    int
	decisions float64
	stack     []call
	// What the evaluator works on. The clock is read only if it changes.
	at      *line
	builtin *meter
	used    []*meter

	exprs    map[*ast.Expr]*site
	builtins map[string]*meter
	rules    []meter // by number, with the time of the rules that they need
	traced   float64 // ns: all evaluations as they were traced, and as they were not
	plain    float64
}

// maxFrames limits the ways to rules. Beyond it, rules have one way each.
const maxFrames = 50_000

// A frame is a rule on one way to it, or the query.
type frame struct {
	rule  int // a number of the policy, or queryRule
	from  *line
	lines []*line
}

// queryRule stands for the query, which is no rule.
const queryRule = -1

// A line is a line of a frame's rule.
type line struct {
	row   int
	calls []*frame
	meter
}

// A meter has the time of a line, a rule or a built-in function.
type meter struct {
	*frame                         // of a line, or nil
	time, count float64            // ns and evaluations, of all decisions of the log
	spans       *exphist.Histogram // the times of a rule in evaluations, or nil

	evaluation int // the number of the last evaluation, of which the rest is
	own        time.Duration
	n          int
}

// A call is a query that the evaluator evaluates: the body of a rule, or a part
// of it, such as a comprehension.
type call struct {
	query uint64
	frame *frame
	at    *line
}

// A site is what the tracer knows about an expression.
type site struct {
	line    *line // where it was last
	builtin *meter
	lookups []lookup
}

// A lookup counts how often the index of rules was asked for a reference.
type lookup struct {
	ref ast.Ref
	n   float64
}

func newTracer(p *Policy) *tracer {
	return &tracer{policy: p, paths: map[string]*frame{}, exprs: map[*ast.Expr]*site{}, builtins: map[string]*meter{}, rules: make([]meter, len(p.rules))}
}

// begin begins an evaluation of a path, which stands for some decisions.
func (t *tracer) begin(path string, decisions float64) {
	if t.frames >= maxFrames {
		path = "" // which no decision has
	}
	query := t.query(path)
	t.number++
	t.decisions = decisions
	t.used, t.builtin = t.used[:0], nil
	t.at = query.line(1)
	t.stack = append(t.stack[:0], call{frame: query, at: t.at})
	t.start, t.last = time.Time{}, 0
}

// query returns the frame of the queries of a path.
func (t *tracer) query(path string) *frame {
	f := t.paths[path]
	if f == nil {
		f = &frame{rule: queryRule}
		t.paths[path] = f
		t.frames++
	}
	return f
}

func (*tracer) Enabled() bool               { return true }
func (*tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent gets an event of the evaluator.
func (t *tracer) TraceEvent(e topdown.Event) {
	if e.Op == topdown.UnifyOp || e.Op == topdown.NoteOp || e.Op == topdown.SaveOp {
		return
	}
	if t.start.IsZero() {
		t.start = time.Now()
	}
	// A query has a greater number than the one that needs it. Queries above the
	// event's have ended, or begin again with a redo of their own.
	for t.top().query > e.QueryID {
		t.stack = t.stack[:len(t.stack)-1]
	}
	if t.top().query != e.QueryID {
		t.enter(&e)
	}
	top := t.top()
	at, called := top.at, (*meter)(nil)
	if expr, ok := e.Node.(*ast.Expr); ok {
		s := t.site(expr)
		if e.Op == topdown.IndexOp {
			s.count(*e.Ref, t.decisions)
			return
		}
		if s.line == nil || s.line.frame != top.frame {
			s.line = top.at
			if expr.Location != nil && top.frame.rule != queryRule {
				s.line = top.frame.line(expr.Location.Row)
			}
		}
		at, top.at = s.line, s.line
		if e.Op == topdown.EvalOp {
			t.use(&at.meter).n++
			called = s.builtin
		}
	} else if len(t.stack) > 1 && (e.Op == topdown.ExitOp || e.Op == topdown.FailOp || e.Op == topdown.DuplicateOp) {
		at = t.stack[len(t.stack)-2].at
	}
	if at != t.at || called != t.builtin {
		t.pass(time.Since(t.start))
		t.at, t.builtin = at, called
	}
	if called != nil {
		t.use(called).n++
	}
}

func (t *tracer) top() *call { return &t.stack[len(t.stack)-1] }

// pass adds the time since the last change to the line, and to the built-in
// function, that the evaluator has worked on.
func (t *tracer) pass(now time.Duration) {
	took := now - t.last
	t.last = now
	t.use(&t.at.meter).own += took
	if t.builtin != nil {
		t.use(t.builtin).own += took
	}
}

// use prepares a meter for the evaluation.
func (t *tracer) use(m *meter) *meter {
	if m.evaluation != t.number {
		m.evaluation, m.own, m.n = t.number, 0, 0
		t.used = append(t.used, m)
	}
	return m
}

// enter begins the query of an event, or begins it again.
func (t *tracer) enter(e *topdown.Event) {
	for len(t.stack) > 1 && t.top().query > e.ParentID {
		t.stack = t.stack[:len(t.stack)-1]
	}
	from := t.top()
	next := call{e.QueryID, from.frame, from.at}
	if rule, ok := e.Node.(*ast.Rule); ok {
		if number, ok := t.policy.numbers[rule]; ok {
			next.frame = t.callee(from.at, number)
			next.at = next.frame.line(rule.Location.Row)
			if e.Op == topdown.EnterOp {
				t.use(&t.rules[number]).n++
			}
		}
	}
	// An expression comes first if its query has ended and goes on without a redo.
	if expr, ok := e.Node.(*ast.Expr); ok && t.exprs[expr] != nil && t.exprs[expr].line != nil {
		next.at = t.exprs[expr].line
		next.frame = next.at.frame
	}
	t.stack = append(t.stack, next)
}

// callee returns the frame of a rule that a line needs.
func (t *tracer) callee(from *line, rule int) *frame {
	for _, f := range from.calls {
		if f.rule == rule {
			return f
		}
	}
	if others := t.query("").line(1); t.frames >= maxFrames && from != others {
		return t.callee(others, rule)
	}
	f := &frame{rule: rule, from: from}
	from.calls = append(from.calls, f)
	t.frames++
	return f
}

// end ends an evaluation that took some time as it was traced, and another time
// as it was not. Only the shares of lines are those of the traced evaluation.
func (t *tracer) end(traced, plain time.Duration) {
	decisions := t.decisions
	t.use(&t.stack[0].at.meter).own += max(0, traced-t.last) // before the first event and after the last
	sum := max(1, t.last, traced)
	factor := float64(plain) / float64(sum)
	t.traced += float64(sum) * decisions
	t.plain += float64(plain) * decisions
	for _, m := range t.used {
		for f := m.frame; f != nil && f.rule != queryRule; f = f.from.frame {
			r := t.use(&t.rules[f.rule])
			if r.own += m.own; r.spans == nil {
				r.spans = exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
			}
		}
	}
	for _, m := range t.used {
		m.time += float64(m.own) * factor * decisions
		m.count += float64(m.n) * decisions
		if m.spans != nil {
			m.spans.Record(int64(float64(m.own) * factor))
		}
	}
}

// line returns a line of a frame.
func (f *frame) line(row int) *line {
	for _, l := range f.lines {
		if l.row == row {
			return l
		}
	}
	l := &line{row: row, meter: meter{frame: f}}
	f.lines = append(f.lines, l)
	return l
}

func (t *tracer) site(expr *ast.Expr) *site {
	s := t.exprs[expr]
	if s == nil {
		s = new(site)
		if expr.IsCall() && !expr.IsEquality() && !expr.IsAssignment() {
			name := expr.Operator().String()
			// An operator takes less time than to measure it.
			if b := ast.BuiltinMap[name]; b != nil && b.Infix == "" && t.builtins[name] == nil {
				t.builtins[name] = new(meter)
			}
			s.builtin = t.builtins[name]
		}
		const most = 100_000 // of ad-hoc queries, without end
		if len(t.exprs) < most {
			t.exprs[expr] = s
		}
	}
	return s
}

// count counts a look-up in the index of rules.
func (s *site) count(ref ast.Ref, n float64) {
	const most = 8 // an expression has few references
	i := slices.IndexFunc(s.lookups, func(l lookup) bool { return &l.ref[0] == &ref[0] || l.ref.Equal(ref) })
	if i < 0 {
		if len(s.lookups) == most {
			return
		}
		i = len(s.lookups)
		s.lookups = append(s.lookups, lookup{ref: ref})
	}
	s.lookups[i].n += n
}

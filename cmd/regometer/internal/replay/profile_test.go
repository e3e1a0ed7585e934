// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/profiler"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/internal/logread"
)

// slow has one slow line in forty rules.
func slow() string {
	var b strings.Builder
	b.WriteString("package p\nmain if {\n")
	for i := range 40 {
		fmt.Fprintf(&b, "\trule%d\n", i)
	}
	b.WriteString("}\n")
	for i := range 40 {
		if i == 17 {
			b.WriteString("rule17 if count([x | some x in numbers.range(1, 10000); x > input.n]) > 5 # slow\n")
		} else {
			fmt.Fprintf(&b, "rule%d if input.n > %d\n", i, i%7)
		}
	}
	return b.String()
}

// of returns a decision of a path.
func of(path string) *decision {
	return &decision{Event: &logread.Event{Path: []byte(path), Time: logread.NoTime}}
}

// The slow line is first, the times of rules add up, and what no decision reaches
// is named.
func TestSlowLine(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", slow(), "q.rego", "package q\nfar if {\n\tinput.n == 1\n\tinput.n == 2\n}\nnear if input.n == 8\nnear if {\n\tinput.n > 10\n\tinput.n > 20\n}", "q_test.rego", "package q\ntest_far if far", "log.rego", "package system.log\nmask contains \"/input\""))
	var log strings.Builder
	for i := range 9 {
		log.WriteString(event(i, "p/main", `"input":{"n":8},"result":true`))
	}
	log.WriteString(event(10, "q/near", `"input":{"n":9}`))
	r := replayed(t, log.String(), Options{Policy: p})
	x := r.Profile
	if r.Equal != 10 || x.Rules[0].Name != "data.p.rule17" || !strings.HasSuffix(x.Lines[0].Text, "# slow") || x.Rules[0].Time < x.Time/2 || x.Builtins[0].Name == "" {
		t.Errorf("%d are equal, and the first are %+v, %+v and %+v", r.Equal, x.Rules[0], x.Lines[0], x.Builtins[0])
	}
	rules, lines := 0.0, 0.0
	for _, r := range x.Rules {
		rules += r.Time
		if r.Name == "data.p.main" && (r.Total < 0.9*x.Time || r.Decisions != 9 || r.Evaluated != 9 || r.Considered != 9) {
			t.Errorf("main: %+v", r)
		}
		if r.Median <= 0 || r.P99 < r.Median || r.Time > r.Total*1.0001 {
			t.Errorf("%+v", r)
		}
	}
	for _, l := range x.Lines {
		lines += l.Time
		if l.Name == queryName {
			rules += l.Time
		}
	}
	if math.Abs(rules/x.Time-1) > 0.02 || math.Abs(lines/x.Time-1) > 0.02 {
		t.Errorf("rules take %v and lines %v, of %v", rules, lines, x.Time)
	}
	var unreached []string
	for _, s := range x.Unreached {
		unreached = append(unreached, fmt.Sprintf("%s %s:%d", s.Name, filepath.Base(s.File), s.Line))
	}
	if want := []string{"data.q.far q.rego:2", "data.q.near q.rego:6", "data.q.near q.rego:9"}; !slices.Equal(unreached, want) {
		t.Errorf("unreached are %q, want %q", unreached, want)
	}
}

// The time of an evaluation that is cut off belongs to the line where it was.
func TestCutOff(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", "package p\nlong := count(numbers.range(1, 1000000000))"))
	r := replayed(t, event(1, "p/long", `"input":{},"result":1`), Options{Policy: p, Timeout: 300 * time.Millisecond})
	if x := r.Profile; r.NotRepeatable != 1 || x.Lines[0].Line != 2 || x.Lines[0].Time < x.Time/2 || x.Builtins[0].Time < x.Time/2 {
		t.Errorf("%+v and %+v, of %v", x.Lines, x.Builtins, x.Time)
	}
}

// The lines of all kinds of rules are evaluated as often as OPA's profiler says,
// and the index is asked at least as often as a rule is entered.
func TestCounts(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "every.rego", everything, "data.json", `{"names": ["carol", "dave", "erin"]}`))
	e := newEvaluator(p, 1<<40)
	mine, theirs := newTracer(p), profiler.New()
	for _, r := range everyRequest {
		path, body, _ := strings.Cut(string(r), " ")
		path, ok := strings.CutPrefix(path, "/v1/data/")
		if !ok || strings.Contains(path, "?") {
			continue
		}
		d := of(path)
		var input ast.Value
		if body != "" {
			if term := ast.MustParseTerm(body).Value.(ast.Object).Get(ast.StringTerm("input")); term != nil {
				input = term.Value
			}
		}
		mine.begin(path, 1)
		a := e.evaluate(t.Context(), d, input, mine, theirs)
		mine.end(a.took, a.took)
	}
	x := profileOf(mine)
	places := map[Source]bool{}
	for _, m := range p.compiler.Modules {
		ast.WalkRules(m, func(r *ast.Rule) bool {
			at := sourceOf(r)
			for _, e := range append(r.Body, &ast.Expr{Location: r.Location}) {
				at.Line = e.Location.Row
				places[at] = true
			}
			return false
		})
	}
	got, want := map[int]int{}, map[int]int{}
	for _, l := range x.Lines {
		if l.Name != queryName && !places[l.Source] {
			t.Errorf("line %d does not belong to %s", l.Line, l.Name)
		}
		if l.Name != queryName && l.Evaluated > 0 {
			got[l.Line] += int(l.Evaluated)
		}
	}
	for name, f := range theirs.ReportByFile().Files {
		for _, s := range f.Result {
			if name != "" && s.NumEval > 0 {
				want[s.Location.Row] += s.NumEval
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) < 15 {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	for _, r := range x.Rules {
		if r.Considered < r.Evaluated && !strings.Contains(r.Name, "conflict") { // which OPA evaluates again, for the error
			t.Errorf("%+v", r)
		}
	}
}

// An evaluation that goes back to a rule, or into a part of one, is on the same
// way to it as before.
func TestWays(t *testing.T) {
	t.Parallel()
	p := loaded(lay(t, "p.rego", `package p
gen contains x if some x in numbers.range(1, 4)
f(x) := y if {
	y := x * 2
	y > 2
} else := 0
odd if {
	some x in gen
	not small(x)
	every y in gen { f(y) >= count([z | some z in gen; z > 4]) }
}
small(x) if x < 3
main if odd with input.a as 1`))
	tr := newTracer(p)
	tr.begin("p/main", 1)
	a := newEvaluator(p, 1<<40).evaluate(t.Context(), of("p/main"), nil, tr)
	tr.end(a.took, a.took)
	counts := map[string]float64{}
	profileOf(tr).walk(func(path string, l *line) {
		way := fmt.Sprint(l.row, " ", l.builtin)
		for f := l.frame; f.rule != nil; f = f.from.frame {
			way = strings.TrimPrefix(sourceOf(f.rule).Name, "data.p.") + " " + way
		}
		if path == "p/main" {
			counts[way] += l.count
		}
	})
	want := map[string]float64{
		"1 ": 1, "main 13 ": 1, "main odd 7 ": 0, "main odd 8 ": 1, "main odd 9 ": 6, "main odd 10 ": 35, "main odd 10 count": 4,
		"main odd gen 2 ": 1, "main odd gen 2 numbers.range": 1, "main odd small 12 ": 3,
		"main odd f 3 ": 0, "main odd f 4 ": 8, "main odd f 5 ": 4, "main odd f 6 ": 1,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}

// Beyond their limit, ways to rules are joined, and no time is lost.
func TestManyWays(t *testing.T) {
	p := loaded(lay(t, "p.rego", "package p\na if {b; c}\nb if c\nc if {d; e}\nd if e\ne if f\nf if input.x > 0"))
	e := newEvaluator(p, 1<<40)
	tr := newTracer(p)
	tr.frames = maxFrames - 3
	for i := range 5 {
		tr.begin(fmt.Sprint("p/", i), 1)
		a := e.evaluate(t.Context(), of("p/a"), ast.MustParseTerm(`{"x": 1}`).Value, tr)
		tr.end(a.took, a.took)
	}
	x := profileOf(tr)
	sum := 0.0
	for _, l := range x.Lines {
		sum += l.Time
	}
	if len(x.Rules) != 6 || math.Abs(sum/x.Time-1) > 0.02 || tr.frames > maxFrames+1+len(tr.rules) {
		t.Errorf("%d rules in %d frames take %v of %v", len(x.Rules), tr.frames, sum, x.Time)
	}
}

// An evaluation that had to wait does not tell what the tracer costs.
func TestTracerCost(t *testing.T) {
	t.Parallel()
	tr := newTracer(loaded(lay(t, "p.rego", usual)))
	for _, traced := range []time.Duration{1500, 2000, 900_000} {
		tr.begin("p/allow", 1)
		tr.end(traced, 1000)
	}
	if cost := profileOf(tr).Tracer; math.Abs(cost-2) > 0.05 {
		t.Errorf("the tracer takes %v times as long, want 2", cost)
	}
}

// Go's tool shows the rules, and their source with the times.
func TestPprof(t *testing.T) {
	t.Parallel()
	dir := lay(t, "p.rego", slow())
	r := replayed(t, strings.Repeat(event(1, "p/main", `"input":{"n":8},"result":true`), 4), Options{Policy: loaded(dir)})
	var b bytes.Buffer
	noError(r.Profile.WritePprof(&b))
	x := must(profile.ParseData(b.Bytes()))
	for _, s := range x.Sample {
		if f := s.Location[len(s.Location)-1].Line[0].Function.Name; f != queryName || s.Label["path"][0] != "p/main" {
			t.Errorf("a sample of %v begins in %s", s.Label, f)
		}
	}
	file := filepath.Join(dir, "rego.pb.gz")
	noError(x.CheckValid(), os.WriteFile(file, b.Bytes(), 0o600))
	top := string(must(exec.Command("go", "tool", "pprof", "-top", file).Output()))
	list := string(must(exec.Command("go", "tool", "pprof", "-trim_path=/", "-source_path=/", "-list", `data\.p\.rule17`, file).Output()))
	if at := strings.Index(top, "data.p.rule17"); at < 0 || at > strings.Index(top, "data.p.main") || !strings.Contains(list, "numbers.range(1, 10000)") || strings.Contains(list, "Error") {
		t.Errorf("pprof shows\n%s\n%s", top, list)
	}
}

// idle is a tracer that does nothing. What it costs is the cost of OPA's events.
type idle struct{}

func (idle) Enabled() bool               { return true }
func (idle) Config() topdown.TraceConfig { return topdown.TraceConfig{} }
func (idle) TraceEvent(topdown.Event)    {}

// BenchmarkTracer compares evaluations without a tracer, with ours, with OPA's,
// and with one that does nothing.
func BenchmarkTracer(b *testing.B) {
	comprehension := filepath.Join(b.TempDir(), "p.rego")
	noError(os.WriteFile(comprehension, []byte(slow()), 0o600))
	for _, c := range []struct{ name, policy, path, input string }{
		{"policy", "../../../../examples/policy", "rbac/allow", `{"user": "bob", "action": "update", "resource": "tenants/acme/documents/7", "ip": ""}`},
		{"comprehension", comprehension, "p/main", `{"n": 8}`},
	} {
		p := loaded(c.policy)
		d, input, mine := of(c.path), ast.MustParseTerm(c.input).Value, newTracer(p)
		for name, tracers := range map[string][]topdown.QueryTracer{"none": nil, "regometer": {mine}, "opa": {profiler.New()}, "idle": {idle{}}} {
			b.Run("case="+c.name+"/tracer="+name, func(b *testing.B) {
				e := newEvaluator(p, 1<<40)
				for b.Loop() {
					mine.begin(c.path, 1)
					a := e.evaluate(b.Context(), d, input, tracers...)
					mine.end(a.took, a.took)
				}
			})
		}
	}
}

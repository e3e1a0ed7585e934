// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// event is a decision for Groups.
type event struct {
	key     string
	time    int64
	outcome outcome.Outcome
	code    string
	numbers []rollup.Number
}

// caller has Groups and the numbers of metrics that they gave.
type caller struct {
	*Groups
	numbers map[string]int32
	keys    map[int32]string
}

func newCaller(l Limits) caller {
	return caller{New(l), map[string]int32{}, map[int32]string{}}
}

func (c caller) forget() {
	c.Forget()
	clear(c.numbers)
	clear(c.keys)
}

func (c caller) add(e event) {
	var measures []logread.Measure
	for _, n := range e.numbers {
		number, ok := c.numbers[n.Key]
		if !ok {
			number = c.Metric([]byte(n.Key))
			if other := c.keys[number]; other != "" && number >= 0 {
				panic(fmt.Sprintf("%q and %q both have number %d", other, n.Key, number))
			}
			c.numbers[n.Key], c.keys[number] = number, n.Key
		}
		measures = append(measures, logread.Measure{Metric: number, Value: n.Value})
	}
	c.Add([]byte(e.key), e.time, e.outcome, e.code, measures)
}

// world makes random decisions.
type world struct{ *rand.Rand }

func newWorld(seed uint64) *world { return &world{rand.New(rand.NewPCG(seed, 0))} }

func (w *world) duration() int64 {
	switch w.IntN(8) {
	case 0:
		return 0
	case 1:
		return -w.Int64N(1000)
	default:
		return 1 + w.Int64N(1<<w.IntN(40))
	}
}

// event returns a random decision, some of whose names and keys are rare.
func (w *world) event() event {
	e := event{key: fmt.Sprint("p", w.IntN(11)), time: logread.NoTime, outcome: outcome.Outcome(w.IntN(6))}
	e.code = []string{"", "internal_error", "unauthorized", "invented"}[w.IntN(4)]
	switch n := w.IntN(60); {
	case n < 4:
		e.key = ""
	case n < 8:
		e.key = rollup.Other
	case n < 26:
		e.key = fmt.Sprint("rare/", w.IntN(100))
	case n == 26:
		e.key = strings.Repeat("long", 300)
	case n == 27:
		e.key = "bad \xff\xfe"
	}
	add := func(oneOf int, format string, value int64) {
		if w.IntN(oneOf) == 0 {
			e.numbers = append(e.numbers, rollup.Number{Key: format, Value: value})
		}
	}
	for _, name := range []string{"eval_op_y", "eval_op_z", "partial_op_a", "query_compile_stage_b", "\xffs", "x1", "x2", "x3", "x4"} {
		add(3, "timer_"+name+"_ns", w.duration())
		add(8, "counter_"+name, w.Int64N(5)-1)
	}
	for _, stage := range []string{
		"server_handler", "sdk_decision_eval", "compile_eval_mask_rule", "rego_query_eval", "rego_partial_eval", "rego_query_compile",
		"rego_external_resolve", "wasm_vm_eval", "wasm_vm_eval_call", "other", "", strings.Repeat("n", 2000),
	} {
		add(3, "timer_"+stage+"_ns", w.duration())
	}
	for _, key := range []string{"counter_server_query_cache_hit", "counter_other", "histogram_h", "timer_", "unknown"} {
		add(8, key, w.duration())
	}
	w.Shuffle(len(e.numbers), func(i, j int) { e.numbers[i], e.numbers[j] = e.numbers[j], e.numbers[i] })
	return e
}

// times returns times of several kinds.
func (w *world) times(n int) []int64 {
	times, kind := make([]int64, n), w.IntN(6)
	for i := range times {
		switch kind {
		case 0: // a few hours
			times[i] = 1_700_000_000e9 + w.Int64N(10_000e9)
		case 1: // around 1970
			times[i] = w.Int64N(10_000e9) - 5000e9
		case 2: // all that there are
			times[i] = int64(w.Uint64())
		case 3: // the ends
			times[i] = []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, -1, 0}[w.IntN(5)]
		case 4: // multiples of small widths, and times between them
			times[i] = w.Int64N(60) - 30
		case 5: // lots far apart
			times[i] = w.Int64N(3)*1_000_000_000e9 + w.Int64N(100e9)
		}
		if w.IntN(10) == 0 {
			times[i] = logread.NoTime
		}
	}
	return times
}

func (w *world) events(n int) []event {
	events, times := make([]event, n), w.times(n)
	for i := range events {
		events[i] = w.event()
		events[i].time = times[i]
	}
	return events
}

func (w *world) limits() Limits {
	return Limits{
		Groups: 1 + w.IntN(1<<w.IntN(8)), Names: 1 + w.IntN(1<<w.IntN(5)),
		Width: 1 + w.Int64N(1<<(4*w.IntN(10))), Slices: 1 + w.IntN(20), Cells: 1 + w.IntN(200),
	}
}

// dump returns all that groups hold, as text.
func dump(g *Groups) string {
	var b strings.Builder
	for x := range g.All(false) {
		b.WriteString(groupText(g.Get(x.Key, true, nil)))
	}
	return b.String() + groupText(g.Get("", true, nil)) + fmt.Sprintf("width %d, %d\n", g.Width(), g.Overflow())
}

func groupText(x *Group) string {
	var b strings.Builder
	for _, s := range append([]Slice{{0, x.Outcomes, x.Stages, x.Counters}}, x.Slices...) {
		fmt.Fprintf(&b, "group %q %d %d %+v begin %d %v %+v\n", x.Key, x.First, x.Last, x.Errors, s.Begin, s.Outcomes, s.Counters)
		for i := range s.Stages {
			x := &s.Stages[i]
			fmt.Fprintf(&b, "  %q %s unfinished %d self %v\n", x.Name, histogramText(&x.Durations), x.Unfinished, x.Self)
		}
	}
	return b.String()
}

// histogramText returns all that a snapshot holds.
func histogramText(s *exphist.Snapshot) string {
	hi, lo := s.Sum()
	first, counts := s.Buckets()
	text := fmt.Append(nil, s.Layout(), s.Zeros(), s.Negatives(), s.Count(), hi, lo, s.Min(), s.Max(), " ", first)
	for _, n := range counts {
		text = strconv.AppendUint(append(text, ' '), n, 10) // fmt would take most of the tests' time
	}
	return string(text)
}

// modelCell is what the decisions of a group, or of a slice of it, came to.
type modelCell struct {
	outcomes   [6]uint64
	counters   map[string]Sum
	histograms map[string]*exphist.Histogram
	stages     map[string]*Stage // except the durations
	period
}

// timing is a stage of a decision.
type timing struct {
	stage          string
	ancestors      []string // nearest first
	value, covered int64
}

// lowestHashes returns the n keys with the lowest hashes.
func lowestHashes(keys map[string]bool, n int) map[string]bool {
	list := slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(keyHash([]byte(a)), keyHash([]byte(b))), strings.Compare(a, b))
	})
	lowest := map[string]bool{}
	for _, key := range list[:min(n, len(list))] {
		lowest[key] = true
	}
	return lowest
}

func floorDivide(a, b int64) int64 {
	return new(big.Int).Div(big.NewInt(a), big.NewInt(b)).Int64() // the remainder is not negative
}

// modelText returns the dump that Groups must have, computed from all decisions
// at once by the rules of the documentation.
func modelText(l Limits, events []event) string {
	keyOf := func(e event) string { return cmp.Or(strings.ToValidUTF8(e.key, "\uFFFD"), rollup.Other) }
	split := func(key string) (stages.Kind, string) { return stages.Split(strings.ToValidUTF8(key, "\uFFFD")) }
	known := knownNames()
	all, names := map[string]bool{}, [stages.Kinds]map[string]bool{{}, {}, {}}
	for _, e := range events {
		if key := keyOf(e); key != rollup.Other && len(key) <= 1024 {
			all[key] = true
		}
		for _, n := range e.numbers {
			kind, name := split(n.Key)
			if !known[kind][name] && len(name) <= 1024 && n.Value >= least[kind] {
				names[kind][name] = true
			}
		}
	}
	kept := lowestHashes(all, l.Groups)
	groups := max(len(kept), 1)
	for kind := range names {
		names[kind] = lowestHashes(names[kind], min(l.Names, max(1, l.Names*l.Cells/groups)))
	}
	most := min(l.Slices, max(1, l.Cells*64/(groups*(64+len(names[stages.Timer])+len(names[stages.Counter])))))
	width := l.Width
	for ; width <= math.MaxInt64/2; width *= 2 {
		slices := map[int64]bool{}
		for _, e := range events {
			if e.time != logread.NoTime {
				slices[floorDivide(e.time, width)] = true
			}
		}
		if len(slices) <= most {
			break
		}
	}

	overflow := 0
	whole := map[string]*modelCell{}
	parts := map[string]map[int64]*modelCell{}
	errors := map[string]map[string]uint64{}
	for _, e := range events {
		key := keyOf(e)
		if key != rollup.Other && !kept[key] {
			key = rollup.Other
			overflow++
		}
		begin := e.time
		if begin != logread.NoTime {
			b := new(big.Int).Mul(big.NewInt(floorDivide(e.time, width)), big.NewInt(width))
			begin = math.MinInt64 + 1
			if b.Cmp(big.NewInt(begin)) > 0 {
				begin = b.Int64()
			}
		}
		var timings []timing
		counters := map[string]uint64{}
		for _, n := range e.numbers {
			kind, name := split(n.Key)
			if n.Value < least[kind] {
				continue
			}
			of := ancestorsOf[name]
			for family, ancestors := range ancestorsOf {
				if prefix, ok := strings.CutSuffix(family, "*"); ok && of == nil && strings.HasPrefix(name, prefix) {
					of = ancestors
				}
			}
			if name == "" || !known[kind][name] && !names[kind][name] {
				name = rollup.Other
			}
			if kind == stages.Timer {
				timings = append(timings, timing{stage: name, ancestors: of, value: n.Value})
			} else {
				counters[name] += uint64(n.Value)
			}
		}
		for _, x := range timings {
			for _, a := range x.ancestors {
				at := slices.IndexFunc(timings, func(t timing) bool { return t.stage == a && t.value > 0 })
				if at >= 0 {
					timings[at].covered += min(x.value, timings[at].value-timings[at].covered)
					break
				}
			}
		}
		for _, key := range []string{key, ""} { // a group, and the total
			if parts[key] == nil {
				whole[key], parts[key], errors[key] = newModelCell(), map[int64]*modelCell{}, map[string]uint64{}
			}
			if parts[key][begin] == nil {
				parts[key][begin] = newModelCell()
			}
			whole[key].add(e.outcome, counters, timings)
			whole[key].widen(period{e.time, e.time})
			parts[key][begin].add(e.outcome, counters, timings)
			if e.outcome == outcome.Failed {
				code := rollup.Other
				if slices.Contains(stages.ErrorCodes(), e.code) {
					code = e.code
				}
				errors[key][code]++
			}
		}
	}

	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(parts), func(a, b string) int { return strings.Compare(order(a), order(b)) }) {
		cell := whole[key]
		x := &Group{Key: key, First: cell.first, Last: cell.last, Outcomes: cell.outcomes}
		x.Counters, x.Stages = cell.read()
		for _, code := range slices.Sorted(maps.Keys(errors[key])) {
			x.Errors = append(x.Errors, stages.ErrorTotal{Code: code, Total: errors[key][code]})
		}
		for _, begin := range slices.Sorted(maps.Keys(parts[key])) {
			s := Slice{Begin: begin, Outcomes: parts[key][begin].outcomes}
			s.Counters, s.Stages = parts[key][begin].read()
			x.Slices = append(x.Slices, s)
		}
		b.WriteString(groupText(x))
	}
	if len(events) == 0 {
		b.WriteString(groupText(&Group{First: logread.NoTime, Last: logread.NoTime}))
	}
	fmt.Fprintf(&b, "width %d, %d\n", width, overflow)
	return b.String()
}

// order returns a text by which group Other comes first, and the total last.
func order(key string) string {
	switch key {
	case rollup.Other:
		return ""
	case "":
		return "\U0010FFFF"
	}
	return key
}

// least has the smallest value that counts, by kind.
var least = [stages.Kinds]int64{math.MaxInt64, 0, 1}

// knownNames returns the names of the tables.
func knownNames() (known [stages.Kinds]map[string]bool) {
	for kind := range known {
		known[kind] = map[string]bool{"": true, rollup.Other: true}
	}
	for _, s := range stages.DefaultStages() {
		known[stages.Timer][s.Name] = true
	}
	for _, name := range stages.DefaultCounters() {
		known[stages.Counter][name] = true
	}
	return known
}

// ancestorsOf has the stages that may contain a stage or a family. Those in
// more others come first, and then the later ones of the table.
var ancestorsOf = func() map[string][]string {
	all, table, depths := map[string][]string{}, stages.DefaultStages(), map[string]int{}
	slices.Reverse(table)
	for range table { // until nothing changes
		for _, s := range table {
			all[s.Name] = strings.Fields(s.Parent)
			for _, p := range all[s.Name] {
				all[s.Name] = append(all[s.Name], all[p]...)
				depths[s.Name] = max(depths[s.Name], depths[p]+1)
			}
		}
	}
	for name, ancestors := range all {
		all[name] = nil
		for _, s := range table {
			if slices.Contains(ancestors, s.Name) {
				all[name] = append(all[name], s.Name)
			}
		}
		slices.SortStableFunc(all[name], func(a, b string) int { return cmp.Compare(depths[b], depths[a]) })
	}
	return all
}()

func newModelCell() *modelCell {
	return &modelCell{[6]uint64{}, map[string]Sum{}, map[string]*exphist.Histogram{}, map[string]*Stage{}, never}
}

func (c *modelCell) add(outcome outcome.Outcome, counters map[string]uint64, timings []timing) {
	c.outcomes[outcome]++
	for name, n := range counters {
		c.counters[name] = c.counters[name].Plus(Sum{Lo: n})
	}
	for _, x := range timings {
		s := c.stages[x.stage]
		if s == nil {
			s = &Stage{Name: x.stage}
			c.stages[x.stage], c.histograms[x.stage] = s, exphist.New(Layout)
		}
		if x.value == 0 {
			s.Unfinished++
		} else {
			c.histograms[x.stage].Record(x.value)
			s.Self = s.Self.Plus(Sum{Lo: uint64(x.value - x.covered)})
		}
	}
}

func (c *modelCell) read() (counters []Counter, stages []Stage) {
	for _, name := range slices.Sorted(maps.Keys(c.counters)) {
		counters = append(counters, Counter{name, c.counters[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.stages)) {
		s := *c.stages[name]
		c.histograms[name].Snapshot(&s.Durations)
		stages = append(stages, s)
	}
	return counters, stages
}

func requireSame(t *testing.T, got, want string) {
	t.Helper()
	for line := range strings.Lines(want) {
		if !strings.HasPrefix(got, line) {
			t.Fatalf("got\n%.500s\nwant\n%s", got, line)
		}
		got = got[len(line):]
	}
	if got != "" {
		t.Fatalf("too much:\n%s", got)
	}
}

// TestModel: with limits of all kinds, Groups hold what the model says,
// whatever the order of the decisions, and however they were spread over Groups
// that were merged. Names lose their room between decisions and within one,
// while their numbers stay until they are forgotten.
func TestModel(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		w := newWorld(seed)
		o := w.limits()
		events := w.events(w.IntN(200))
		want := modelText(o, events)
		for round := range 4 {
			parts, groups := make([]caller, 1+round*w.IntN(4)), []*Groups(nil)
			for i := range parts {
				parts[i] = newCaller(o)
				groups = append(groups, parts[i].Groups)
			}
			if w.IntN(2) == 0 {
				ShareRoom(groups...)
			}
			mergeNext := func() {
				i := w.IntN(len(parts) - 1)
				if err := parts[i].Merge(parts[i+1].Groups); err != nil {
					t.Fatal(err)
				}
				parts = slices.Delete(parts, i+1, i+2)
			}
			w.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			for _, e := range events {
				if w.IntN(30) == 0 && len(parts) > 1 {
					mergeNext()
				}
				part := parts[w.IntN(len(parts))]
				switch w.IntN(50) {
				case 0, 1: // asked for, but in no decision
					part.Metric(fmt.Appendf(nil, "timer_unused%d_ns", w.IntN(100)))
				case 2: // read in between
					part.Overflow()
				case 3:
					part.forget()
				}
				part.add(e)
			}
			for len(parts) > 1 {
				mergeNext()
			}
			t.Logf("seed %d, round %d, options %+v", seed, round, o)
			requireSame(t, dump(parts[0].Groups), want)
		}
	}
}

// TestRead: groups without parts are those with them, except the counters and
// stages of their slices. What is read shares no memory.
func TestRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		w := newWorld(seed)
		g := newCaller(w.limits())
		for _, e := range w.events(100) {
			g.add(e)
		}
		before := dump(g.Groups)
		var again Group
		requireSum := func(sum, x *Group) {
			t.Helper()
			for k := range x.Slices {
				x.Slices[k].Counters, x.Slices[k].Stages = nil, nil
			}
			requireSame(t, groupText(sum), groupText(x))
			for k := range x.Stages {
				x.Stages[k].Durations.Reset()
			}
		}
		keys := []string{}
		for x := range g.All(false) {
			keys = append(keys, x.Key)
			requireSum(g.Get(x.Key, false, &again), g.Get(x.Key, true, nil))
			requireSum(x, g.Get(x.Key, true, nil))
		}
		requireSum(g.Get("", false, nil), g.Get("", true, nil))
		for x := range g.All(true) {
			requireSame(t, groupText(x), groupText(g.Get(keys[0], true, nil)))
			keys = keys[1:]
		}
		requireSame(t, dump(g.Groups), before)
		if len(keys) > 0 || g.Get("no such key", true, &again) != nil || g.Has("no such key") {
			t.Error("keys without a group have one, or others have none")
		}
		for range g.All(false) {
			break
		}
	}
}

// TestErrors: counters cannot become too large. Merging empty groups changes
// nothing.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, last := range []Sum{{Hi: 1 << 63}, {Hi: 1<<63 - 1, Lo: math.MaxUint64}, {Hi: math.MaxUint64, Lo: math.MaxUint64}} { // which make 2^127 or more
		slice := Slice{Outcomes: [6]uint64{1}, Counters: []Counter{{"a", Sum{Lo: 1}}, {"b", last}}}
		err := New(Limits{}).Insert(&Group{Key: "k", First: 1, Last: 2, Slices: []Slice{slice}})
		if !errors.Is(err, errTooMany) {
			t.Errorf("got error %v for a counter of %v", err, last)
		}
	}
	w := newWorld(1)
	g := newCaller(Limits{})
	for _, e := range w.events(50) {
		g.add(e)
	}
	before := dump(g.Groups)
	if err := g.Merge(New(Limits{Groups: 65_536, Width: 60e9})); err != nil { // the defaults
		t.Error(err)
	}
	requireSame(t, dump(g.Groups), before)
}

// TestUnusualMeasures: unknown metrics and values that do not count are left
// out. A decision may have any number of metrics, and counters may add up to
// more than 64 bits.
func TestUnusualMeasures(t *testing.T) {
	t.Parallel()
	g := New(Limits{Names: 5000})
	for _, key := range []string{"", "histogram_h", "timer_x", "timer_x_ms", "ns"} {
		if n := g.Metric([]byte(key)); n >= 0 {
			t.Errorf("%q has number %d", key, n)
		}
	}
	counter, timer := g.Metric([]byte("counter_c")), g.Metric([]byte("timer_t_ns"))
	g.Add([]byte("k"), 0, 99, "", []logread.Measure{{Metric: -1, Value: 5}, {Metric: math.MinInt32, Value: 5}, {Metric: math.MaxInt32, Value: 5},
		{Metric: counter, Value: 0}, {Metric: counter, Value: -1}, {Metric: timer, Value: -1},
	})
	if x := g.Get("", true, nil); x.Outcomes != [6]uint64{outcome.Neither: 1} || len(x.Stages) != 0 || len(x.Counters) != 0 {
		t.Errorf("got %+v", x)
	}
	for range 4 {
		measures := []logread.Measure{{Metric: counter, Value: math.MaxInt64}}
		for i := range 3000 {
			measures = append(measures, logread.Measure{Metric: g.Metric(fmt.Appendf(nil, "timer_t%d_ns", i)), Value: int64(i)})
		}
		g.Add([]byte("k"), 0, outcome.Allowed, "", measures)
	}
	x := g.Get("", true, nil)
	if want := (Sum{Hi: 1, Lo: math.MaxUint64 - 3}); len(x.Counters) != 1 || x.Counters[0].Total != want { // 4·(2^63−1) = 2·2^64 − 4
		t.Errorf("counters %+v, want %v", x.Counters, want)
	}
	if len(x.Stages) != 3000 || x.Stages[7].Durations.Count()+x.Stages[7].Unfinished != 4 {
		t.Errorf("%d stages", len(x.Stages))
	}
}

// TestKeyHash: the hash never changes, because it decides what reports keep
// that are merged.
func TestKeyHash(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]uint64{
		"":                  0xefd01f60ba992926,
		"rbac/allow":        0xa17746a69901517,
		"\xff\x00":          0x6697e69689e5177a,
		"system/policies/1": 0xe6597a49596fc317,
	} {
		if got := keyHash([]byte(key)); got != want {
			t.Errorf("keyHash(%q) is %#x, want %#x", key, got, want)
		}
	}
}

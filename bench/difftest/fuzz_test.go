// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/regometer/regometer/metrics"
)

// FuzzPrograms runs random programs of calls on both packages, in virtual
// time, and compares everything that users can see. Because reservoirs are
// random, the same program covers different code each time. A low limit keeps
// the fuzzer from minimizing for minutes:
//
//	go test -fuzz FuzzPrograms -fuzzminimizetime 20x ./difftest
func FuzzPrograms(f *testing.F) {
	f.Fuzz(func(t *testing.T, program []byte) {
		synctest.Test(t, func(t *testing.T) { runProgram(t, program) })
	})
}

// TestRandomPrograms runs programs that the fuzzer has not found.
func TestRandomPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for range 200 {
		program := make([]byte, rng.IntN(600))
		for i := range program {
			program[i] = byte(rng.Uint32())
		}
		synctest.Test(t, func(t *testing.T) { runProgram(t, program) })
		if t.Failed() {
			t.Fatalf("program %q", program)
		}
	}
}

// An operation of a program, one byte. Its operands follow.
type operation byte

const (
	opTimerStart operation = iota
	opTimerStop
	opTimerValue
	opCounterIncr
	opCounterAdd
	opCounterValue
	opHistogramUpdate
	opHistogramBurst // count, first value, step
	opHistogramFill  // first value, step; up to, or just over, a full reservoir
	opHistogramValue
	opSleep
	opClear
	opCompare
	opStatistics // count, first value, step
	opSameHandle // the next look-up returns a handle of an earlier one
	opKinds
)

// reservoirSize is the number of values that a histogram keeps. With more
// values, the packages draw their samples independently.
const reservoirSize = 1028

// names are used by programs by their number. A program can also spell out
// other names.
var names = []string{
	opa.RegoQueryEval, opa.ServerHandler, "a", "a_", "a!", "", "<&>", "\u2028\"\\", "\xff\xfe", "世界", "stddev:1", `"stddev":2`,
}

// pieces are parts of output. Programs make names of them that look like the
// output around them.
var pieces = []string{
	`"count":`, `"count`, `,"count":1,`, `{"75%":`, `"stddev":`, `{`, `}`, `":`, `":{`, `,`, `"`, `\`, `\"`, `:`, ` `, `0`,
	"map[75%:", " count:", " stddev:", "]", "timer_", "_ns", "counter_", "histogram_", "a",
}

// values are used by programs by their number.
var values = []int64{
	0, 1, -1, 255, 256, 1e6, 1e9, 1e15, -1e15, 1<<53 + 1,
	math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 / 2,
}

// reader decodes a program. After its end, all bytes are zero.
type reader struct{ rest []byte }

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) name() string {
	b := int(r.byte())
	switch {
	case b < 128:
		return names[b%len(names)]
	case b < 192:
		var name strings.Builder
		for range b%4 + 1 {
			name.WriteString(pieces[int(r.byte())%len(pieces)])
		}
		return name.String()
	}
	n := min(b-192, len(r.rest))
	name := string(r.rest[:n])
	r.rest = r.rest[n:]
	return name
}

func (r *reader) value() int64 {
	switch b := r.byte(); b % 4 {
	case 0:
		return values[int(b/4)%len(values)]
	case 1:
		return int64(int8(r.byte()))
	case 2:
		return int64(r.byte())<<16 | int64(r.byte())<<8 | int64(r.byte())
	default:
		var word [8]byte
		for i := range word {
			word[i] = r.byte()
		}
		return int64(binary.BigEndian.Uint64(word[:])) >> (b / 4)
	}
}

func (r *reader) progression(n int) []int64 {
	first, step := r.value(), r.value()
	values := make([]int64, n)
	for i := range values {
		values[i] = first + int64(i)*step
	}
	return values
}

// A pair is the same metric in both packages.
type pair struct {
	key  string
	ours any
	opas any
	// values of a histogram
	values []int64
}

// machine runs a program.
type machine struct {
	t     *testing.T
	ours  metrics.Metrics
	opas  opa.Metrics
	live  map[string]*pair // by key, since the last Clear
	pairs []*pair          // all handles, those from before a Clear too
	reuse int              // index of the handle to use next, or -1
	// clock is the time that the program has slept.
	clock time.Duration
}

func runProgram(t *testing.T, program []byte) {
	m := &machine{t: t, ours: metrics.New(), opas: opa.New(), live: map[string]*pair{}, reuse: -1}
	r := &reader{program}
	for range 400 {
		if len(r.rest) == 0 || t.Failed() {
			break
		}
		m.step(operation(r.byte()%byte(opKinds)), r)
	}
	m.compare()
	for _, p := range m.pairs {
		if len(p.values) > 0 {
			m.compareHistogram(p, p.ours.(metrics.Histogram).Value(), p.opas.(opa.Histogram).Value())
		}
	}
}

func (m *machine) step(op operation, r *reader) {
	switch op {
	case opTimerStart:
		ours, opas := m.timer(r.name())
		ours.Start()
		opas.Start()
	case opTimerStop:
		ours, opas := m.timer(r.name())
		m.same("Stop", ours.Stop(), opas.Stop())
	case opTimerValue:
		ours, opas := m.timer(r.name())
		m.same("Int64", ours.Int64(), opas.Int64())
		m.same("timer's Value", ours.Value(), opas.Value())
	case opCounterIncr:
		ours, opas := m.counter(r.name())
		ours.Incr()
		opas.Incr()
	case opCounterAdd:
		ours, opas := m.counter(r.name())
		n := uint64(r.value())
		ours.Add(n)
		opas.Add(n)
	case opCounterValue:
		ours, opas := m.counter(r.name())
		m.same("counter's Value", ours.Value(), opas.Value())
	case opHistogramUpdate:
		m.update(m.histogram(r.name()), r.value())
	case opHistogramBurst:
		m.update(m.histogram(r.name()), r.progression(int(r.byte()))...)
	case opHistogramFill:
		p := m.histogram(r.name())
		room := reservoirSize + int(int8(r.byte()))/32 - len(p.values)
		m.update(p, r.progression(max(room, 1))...)
	case opHistogramValue:
		p := m.histogram(r.name())
		m.compareHistogram(p, p.ours.(metrics.Histogram).Value(), p.opas.(opa.Histogram).Value())
	case opSleep:
		d := time.Duration(r.value())
		// The clock of a bubble ends in the year 2262.
		if d >= 0 && m.clock+d >= m.clock && m.clock+d < 250*365*24*time.Hour {
			m.clock += d
			time.Sleep(d)
		}
	case opClear:
		m.ours.Clear()
		m.opas.Clear()
		clear(m.live)
	case opCompare:
		m.compare()
	case opStatistics:
		p := &pair{key: "Statistics", values: r.progression(int(r.byte()) * 4)}
		m.compareHistogram(p, metrics.Statistics(p.values...), opa.Statistics(p.values...))
	case opSameHandle:
		if len(m.pairs) > 0 {
			m.reuse = int(r.byte()) % len(m.pairs)
		}
	}
}

// lookUp returns the pair of a metric that has just been looked up in both
// packages, or the handle that the program wants to reuse.
func (m *machine) lookUp(key string, ours, opas any) *pair {
	for _, p := range m.pairs {
		if p.key == key && (p.ours == ours) != (p == m.live[key]) {
			m.t.Errorf("%q: another handle than before, or the same as before Clear", key)
		}
	}
	p, ok := m.live[key]
	if !ok {
		p = &pair{key: key, ours: ours, opas: opas}
		m.live[key] = p
		m.pairs = append(m.pairs, p)
	}
	if m.reuse >= 0 && reflect.TypeOf(m.pairs[m.reuse].ours) == reflect.TypeOf(ours) {
		p = m.pairs[m.reuse]
	}
	m.reuse = -1
	return p
}

func (m *machine) timer(name string) (metrics.Timer, opa.Timer) {
	p := m.lookUp("timer_"+name+"_ns", m.ours.Timer(name), m.opas.Timer(name))
	return p.ours.(metrics.Timer), p.opas.(opa.Timer)
}

func (m *machine) counter(name string) (metrics.Counter, opa.Counter) {
	p := m.lookUp("counter_"+name, m.ours.Counter(name), m.opas.Counter(name))
	return p.ours.(metrics.Counter), p.opas.(opa.Counter)
}

func (m *machine) histogram(name string) *pair {
	return m.lookUp("histogram_"+name, m.ours.Histogram(name), m.opas.Histogram(name))
}

func (m *machine) update(p *pair, values ...int64) {
	ours, opas := p.ours.(metrics.Histogram), p.opas.(opa.Histogram)
	for _, v := range values {
		ours.Update(v)
		opas.Update(v)
	}
	p.values = append(p.values, values...)
}

func (m *machine) same(what string, ours, opas any) {
	m.t.Helper()
	if !reflect.DeepEqual(ours, opas) {
		m.t.Errorf("%s is %T %v, OPA's %T %v", what, ours, ours, opas, opas)
	}
}

// stdDev matches the standard deviation in a text, the one number that OPA does
// not always give the same digits.
var stdDev = regexp.MustCompile(`(stddev"?:)[0-9.e+-]+`)

// compare compares the two collections.
func (m *machine) compare() {
	t := m.t
	m.same("Info's Name", m.ours.Info().Name, m.opas.Info().Name)
	ours, opas := m.ours.All(), m.opas.All()
	keys := slices.Sorted(maps.Keys(opas))
	if got := slices.Sorted(maps.Keys(ours)); !slices.Equal(got, keys) {
		t.Errorf("All has the keys %q, OPA's %q", got, keys)
		return
	}
	if want := slices.Sorted(maps.Keys(m.live)); !slices.Equal(keys, want) {
		t.Errorf("OPA's All has the keys %q, looked up were %q", keys, want)
	}
	comparable := true
	for _, key := range keys {
		if p := m.live[key]; strings.HasPrefix(key, "histogram_") {
			m.compareHistogram(p, ours[key], opas[key])
			comparable = comparable && p.comparable() && p.sumFits()
		} else {
			m.same(key, ours[key], opas[key])
		}
	}
	m.same("Timers", m.ours.(metrics.TimerMetrics).Timers(), m.opas.(opa.TimerMetrics).Timers())

	text := m.ours.(fmt.Stringer).String()
	bytes, err := m.ours.MarshalJSON()
	if err != nil {
		t.Errorf("MarshalJSON: %v", err)
	}
	if comparable {
		opasText := m.opas.(fmt.Stringer).String()
		m.same("String", stdDev.ReplaceAllString(text, "$1"), stdDev.ReplaceAllString(opasText, "$1"))
		opasBytes, err := m.opas.MarshalJSON()
		if err != nil {
			t.Errorf("OPA's MarshalJSON: %v", err)
		}
		m.same("MarshalJSON", stdDev.ReplaceAllString(string(bytes), "$1"), stdDev.ReplaceAllString(string(opasBytes), "$1"))
	}

	// The rest is compared with our own All, which is known to be right now.
	var parts []string
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%s:%v", key, ours[key]))
	}
	m.same("String", text, strings.Join(parts, " "))
	want, err := json.Marshal(ours)
	if err != nil {
		t.Errorf("json.Marshal(All()): %v", err)
	}
	m.same("MarshalJSON", string(bytes), string(want))
	bytes, err = json.Marshal(m.ours)
	m.same("json.Marshal", string(bytes), string(want))
	m.same("json.Marshal's error", err, nil)
	bytes, err = metrics.AppendJSON([]byte("x"), m.ours)
	m.same("AppendJSON", string(bytes), "x"+string(want))
	m.same("AppendJSON's error", err, nil)
	each := map[string]any{}
	for metric := range metrics.Each(m.ours) {
		if _, ok := each[metric.Key()]; ok {
			t.Errorf("Each yields %q twice", metric.Key())
		}
		each[metric.Key()] = metric.Value()
	}
	m.same("Each", each, ours)
}

// comparable reports whether the histogram still has all its values.
func (p *pair) comparable() bool { return len(p.values) <= reservoirSize }

// sumFits reports whether the sum of the values fits an int64.
func (p *pair) sumFits() bool {
	sum := new(big.Int)
	for _, v := range p.values {
		sum.Add(sum, big.NewInt(v))
	}
	return sum.IsInt64()
}

// compareHistogram compares the two values of a histogram. If OPA's value is
// random or wrong, it compares ours with the values that the program wrote.
func (m *machine) compareHistogram(p *pair, ours, opas any) {
	m.t.Helper()
	if err := histogramError(p, ours, opas); err != nil {
		m.t.Errorf("%q with %d values: %v\nours %v\nOPA's %v", p.key, len(p.values), err, ours, opas)
	}
}

func histogramError(p *pair, oursValue, opasValue any) error {
	ours, ok := oursValue.(map[string]any)
	if !ok {
		return fmt.Errorf("the value is a %T", oursValue)
	}
	opas := opasValue.(map[string]any)
	if len(ours) != len(opas) {
		return fmt.Errorf("%d fields, OPA's has %d", len(ours), len(opas))
	}
	for field, v := range opas {
		if reflect.TypeOf(ours[field]) != reflect.TypeOf(v) {
			return fmt.Errorf("%s is a %T, OPA's a %T", field, ours[field], v)
		}
	}
	if ours["count"] != opas["count"] || ours["count"] != int64(len(p.values)) {
		return fmt.Errorf("count is %v, OPA's %v", ours["count"], opas["count"])
	}
	if !p.comparable() {
		return boundsError(p, ours)
	}
	for field, v := range opas {
		switch field {
		case "mean", "stddev":
		default:
			if ours[field] != v {
				return fmt.Errorf("%s is %v, OPA's %v", field, ours[field], v)
			}
		}
	}
	if !p.sumFits() {
		return nil // OPA's mean and standard deviation are wrong
	}
	if ours["mean"] != opas["mean"] {
		return fmt.Errorf("mean is %v, OPA's %v", ours["mean"], opas["mean"])
	}
	// OPA adds up squares in random order, and its mean is rounded.
	least, most := ours["min"].(int64), ours["max"].(int64)
	largest := math.Max(math.Abs(float64(least)), math.Abs(float64(most)))
	got, want := ours["stddev"].(float64), opas["stddev"].(float64)
	if !(math.Abs(got-want) <= 1e-12*want+largest*0x1p-51) {
		return fmt.Errorf("stddev is %v, OPA's %v", got, want)
	}
	return nil
}

// boundsError checks the summary of a sample.
func boundsError(p *pair, ours map[string]any) error {
	least, most := ours["min"].(int64), ours["max"].(int64)
	if least < slices.Min(p.values) || most > slices.Max(p.values) || least > most {
		return fmt.Errorf("min is %v and max %v, values are from %v to %v", least, most, slices.Min(p.values), slices.Max(p.values))
	}
	last := float64(least)
	for _, field := range []string{"median", "75%", "90%", "95%", "99%", "99.9%", "99.99%"} {
		v := ours[field].(float64)
		if !(v >= last && v <= float64(most)) {
			return fmt.Errorf("%s is %v, want %v to %v", field, v, last, float64(most))
		}
		last = v
	}
	return nil
}

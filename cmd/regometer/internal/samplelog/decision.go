// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// decision is the content of an event.
type decision struct {
	*profile
	server      int
	request     int       // its number on the server, from 1
	time        time.Time // of the response, in UTC
	id          string
	trace, span string // "" if not traced
	client      uint32 // address and port
	inputAt     int    // index of the input, if the profile has any
	slash       bool   // whether the path begins with a slash
	erased      string // the field that a mask policy removed, or ""
	result      string // "" if there is none
	failure     failure
	outcome     outcome.Outcome

	timers, counters map[string]int64 // timers in ns; 0 if unfinished

	flaw   logread.Problem // "" if there is none
	flawIn string          // the timer that has it, if its metrics do
}

// failure is an error, as an object and as the text on the console. The zero
// value stands for no failure.
type failure struct {
	object, text string
	outcome      outcome.Outcome
}

var (
	failures = []failure{
		{`{"code":"eval_builtin_error","message":"http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused","location":{"file":"policy.rego","row":27,"col":3}}`,
			`policy.rego:27: eval_builtin_error: http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused`,
			outcome.Failed},
		{`{"code":"eval_conflict_error","message":"complete rules must not produce multiple outputs","location":{"file":"policy.rego","row":41,"col":1}}`,
			`policy.rego:41: eval_conflict_error: complete rules must not produce multiple outputs`, outcome.Failed},
		{`{"code":"internal_error","message":"storage is closed"}`, `internal_error: storage is closed`, outcome.Failed},
		{`{"code":"eval_cancel_error","message":"caller cancelled query execution"}`,
			`eval_cancel_error: caller cancelled query execution`, outcome.Cancelled},
	}
	noDocument = failure{`{"code":"undefined_document","message":"document missing: data.system.main"}`,
		`undefined_document: document missing: data.system.main`, outcome.Undefined}
)

// servers is the number of OPA servers that write to the log.
const servers = 3

// drawer draws decisions, one after the other.
type drawer struct {
	*source
	regression *Regression
	profiles   []*profile
	shares     []uint64 // for each path, the sum of the shares up to it
	requests   [servers]int
	inputs     int // number of inputs to choose from
	parseTime  lognormal

	start      time.Time
	elapsed    time.Duration // since start
	pause      lognormal
	waves      *source
	minute     time.Duration // minutes since start that the waves have taken
	load, slow wave
}

func newDrawer(o *Options) *drawer {
	inputs, inputBytes := inputsOf(o)
	d := &drawer{
		source: newSource(o.Seed, 1), waves: newSource(o.Seed, 2), regression: o.Regression, inputs: inputs,
		parseTime: lognormal{inputParseTime.median + logOf(1+uint64(inputBytes)/2000), inputParseTime.spread},
		start:     o.Start.UTC(), minute: math.MinInt64,
		// On average a pause of this spread is 2.61 times as long as its
		// median.
		pause: newLognormal(max(1, uint64(1e9/o.Rate/2.61)), 2000),
		load:  wave{spread: spreadOf(500)},
		slow:  wave{spread: spreadOf(int64(o.Drift * 1000))},
	}
	var sum uint64
	for i := range o.Paths {
		sum += math.MaxUint32 / uint64(i+1)
		d.profiles, d.shares = append(d.profiles, profileOf(i)), append(d.shares, sum)
	}
	return d
}

// draw sets all of a decision except its flaw.
func (w *drawer) draw(d *decision) {
	total := w.shares[len(w.shares)-1]
	share, _ := bits.Mul64(w.Uint64(), total)
	path, _ := slices.BinarySearch(w.shares, 1+share)
	d.profile = w.profiles[path]
	d.server = w.below(servers)
	w.requests[d.server]++
	d.request = w.requests[d.server]
	d.time = w.next()
	d.id, d.trace, d.span = uuid(w.source), "", ""
	if w.oneIn(4) {
		d.trace = fmt.Sprintf("%016x%016x", w.Uint64(), w.Uint64())
		d.span = fmt.Sprintf("%016x", w.Uint64())
	}
	rare := w.Uint64()
	d.client = uint32(rare)
	d.slash = rare>>32%64 == 0
	d.inputAt = w.below(w.inputs)
	w.drawOutcome(d)
	w.drawMetrics(d)
}

// next returns the time of the next decision.
func (w *drawer) next() time.Time {
	w.elapsed += time.Duration(w.source.draw(w.pause, w.load.now))
	const keep = 100 // minutes, after which an earlier wave does not matter any more
	for minute := w.elapsed / time.Minute; w.minute < minute; w.minute++ {
		w.minute = max(w.minute, minute-keep)
		w.load.step(w.waves)
		w.slow.step(w.waves)
	}
	return w.start.Add(w.elapsed)
}

func (w *drawer) drawOutcome(d *decision) {
	d.result, d.failure, d.erased = "", failure{}, ""
	switch fate := w.below(1024); {
	case fate < d.failed:
		d.failure = failures[w.below(len(failures))]
		d.outcome = d.failure.outcome
	case fate < d.failed+d.undefined:
		d.outcome = outcome.Undefined
		if w.oneIn(8) {
			d.failure = noDocument
		}
	case w.oneIn(2000):
		d.erased, d.outcome = "/result", outcome.Neither
	default:
		r := d.results[w.below(len(d.results))]
		d.result, d.outcome = r.json, r.outcome
		if d.input && w.oneIn(200) {
			d.erased = "/input/password"
		}
	}
}

func (w *drawer) drawMetrics(d *decision) {
	d.timers, d.counters = map[string]int64{}, map[string]int64{}
	within := int64(0) // in the handler
	if d.input {
		within += w.put(d, "rego_input_parse", w.parseTime)
	}
	isQuery := d.path == outcome.Query
	miss := isQuery || w.oneIn(50) // the query is not in the server's cache
	if miss {
		within += w.put(d, "rego_query_parse", queryParseTime) + w.put(d, "rego_query_compile", compileTime)
	}
	if !isQuery {
		d.counters["server_query_cache_hit"] = map[bool]int64{true: 0, false: 1}[miss]
	}

	own := w.source.draw(d.eval, w.slow.now)
	inEval := w.put(d, "rego_external_resolve", resolveTime)
	switch {
	case !d.httpSend:
	case w.oneIn(4): // the answer is not in the cache of http.send
		d.counters[networkRequests] = 1
		inEval += w.put(d, "rego_builtin_http_send", networkTime)
	default:
		d.counters["rego_builtin_http_send_interquery_cache_hits"] = 1
		inEval += w.put(d, "rego_builtin_http_send", cachedTime)
	}
	within += w.set(d, "rego_query_eval", own+inEval)
	if w.oneIn(1000) { // asked for with ?instrument
		d.timers["eval_op_plug"], d.timers["eval_op_rule_index"] = own/8+1, own/16+1
		d.counters["eval_op_base_cache_hit"], d.counters["eval_op_base_cache_miss"] = own%7, 1
	}
	w.set(d, "server_handler", within+w.source.draw(handlerTime, w.slow.now))
	if isQuery || w.oneIn(500) { // not stopped when it is logged
		d.timers["server_handler"] = 0
	}
}

// put draws a timer from a distribution, and returns it.
func (w *drawer) put(d *decision, stage string, from lognormal) int64 {
	return w.set(d, stage, w.source.draw(from, w.slow.now))
}

// set sets a timer, and returns it. The regression makes it longer.
func (w *drawer) set(d *decision, stage string, ns int64) int64 {
	if r := w.regression; r != nil && stage == r.Stage && d.profile == w.profiles[0] && !d.time.Before(r.At) {
		ns = int64(float64(ns) * r.Factor)
	}
	d.timers[stage] = ns
	return ns
}

// flaws are the problems that an event can have.
var flaws = []logread.Problem{
	logread.InvalidJSON, // the line breaks off
	logread.InvalidUTF8, logread.NoMetrics, logread.BadMetric, logread.NegativeMetric, logread.DuplicateKey, logread.BadTime,
}

// drawFlaw gives a decision one of the flaws that the container can have.
func (s *source) drawFlaw(d *decision, f *format) {
	for ok := false; !ok; {
		d.flaw = flaws[s.below(len(flaws))]
		ok = (d.flaw != logread.InvalidJSON || f.hasLines()) &&
			(d.flaw != logread.InvalidUTF8 || !f.uses("$log", "$string")) &&
			(d.flaw != logread.BadTime || f.timeFormat == "") // else the line has a time
	}
	for ok := false; !ok; _, ok = d.timers[d.flawIn] {
		d.flawIn = stages[s.below(len(stages))]
	}
}

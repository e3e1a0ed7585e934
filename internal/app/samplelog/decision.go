// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/regometer/regometer/rollup"
)

// decision is what an event tells.
type decision struct {
	path     int // its index
	profile  *profile
	server   int
	requests uint64    // of the server so far, this one included
	time     time.Time // of the response, in UTC
	id       [16]byte
	trace    [24]byte // trace and span, if traced
	traced   bool
	client   uint32 // address and port
	input    int    // which of the inputs, if the profile has any
	slash    bool   // whether the path is written with a leading slash
	erased   string // the field that a mask policy removed, or ""
	metrics  numbers

	result  string // "" if there is none
	failure *failure
	outcome rollup.Outcome

	flaw flaw
	at   stage // what timer the flaw is in
}

// failure is an error, as an object and as the text that the console has.
type failure struct {
	object, text string
	outcome      rollup.Outcome
}

var (
	failures = []failure{
		{`{"code":"eval_builtin_error","message":"http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused","location":{"file":"policy.rego","row":27,"col":3}}`,
			`policy.rego:27: eval_builtin_error: http.send: Get \"https://limits.example.com/v1\": dial tcp 10.0.0.7:443: connect: connection refused`,
			rollup.Error},
		{`{"code":"eval_conflict_error","message":"complete rules must not produce multiple outputs","location":{"file":"policy.rego","row":41,"col":1}}`,
			`policy.rego:41: eval_conflict_error: complete rules must not produce multiple outputs`, rollup.Error},
		{`{"code":"internal_error","message":"storage is closed"}`, `internal_error: storage is closed`, rollup.Error},
		{`{"code":"eval_cancel_error","message":"caller cancelled query execution"}`,
			`eval_cancel_error: caller cancelled query execution`, rollup.Cancelled},
	}
	noDocument = failure{`{"code":"undefined_document","message":"document missing: data.system.main"}`,
		`undefined_document: document missing: data.system.main`, rollup.Undefined}
)

// How rare some things are: one in so many decisions.
const (
	rareMiss       = 50   // the query was not in the cache
	rareTrace      = 4    // traced
	rareSlash      = 64   // a path with a leading slash
	rareErased     = 200  // masked, but not the result
	rareHidden     = 2000 // the result masked
	rareUnfinished = 500  // the handler's timer not stopped
	rareInstrument = 1000 // asked for with ?instrument
	rareNetwork    = 4    // http.send asks, since its cache does not have it
)

// drawer draws decisions, one after the other.
type drawer struct {
	options  *Options
	source   *source
	profiles []*profile
	shares   []uint64 // sums of the shares of the paths up to each
	servers  []uint64 // how many requests each has had
	inputs   int      // how many there are to choose from

	start      time.Time
	now        int64 // ns since start
	pause      lognormal
	waves      *source
	minute     int64
	load, slow wave

	parseTime lognormal
	worse     stage // of the regression, or none
	worseFrom int64 // ns since start
	worsePath int
}

func newDrawer(o *Options, inputs, inputBytes int) *drawer {
	d := &drawer{
		options: o, source: newSource(o.Seed, 1), waves: newSource(o.Seed, 2), start: o.Start.UTC(),
		servers: make([]uint64, o.Instances), inputs: inputs, worse: none, minute: math.MinInt64,
	}
	// A pause of this spread is 2.61 times as long on average as its median.
	d.pause = newLognormal(max(1, uint64(1e9/o.Rate/2.61)), 2000)
	d.load.spread, d.slow.spread = spreadOf(500), spreadOf(int64(o.Drift*1000))
	d.parseTime = inputParseTime
	d.parseTime.median += logOf(1 + uint64(inputBytes)/2000)

	var sum uint64
	for i := range o.Paths {
		sum += math.MaxUint32 / uint64(i+1)
		d.profiles, d.shares = append(d.profiles, profileOf(i)), append(d.shares, sum)
	}
	if r := o.Regression; r != nil {
		d.worse, d.worseFrom = stageOf(r.Stage), int64(r.At.Sub(d.start))
		if r.Path != "" {
			d.worsePath = slices.Index(PathNames(o.Paths), r.Path)
		}
	}
	return d
}

// draw fills in all of a decision but its flaw.
func (w *drawer) draw(d *decision) {
	s := w.source
	d.path, _ = slices.BinarySearch(w.shares, 1+s.below(w.shares[len(w.shares)-1]))
	d.profile = w.profiles[d.path]
	d.server = int(s.below(uint64(len(w.servers))))
	w.servers[d.server]++
	d.requests = w.servers[d.server]
	d.time = w.next()

	high, low := s.Uint64(), s.Uint64()
	binary.BigEndian.PutUint64(d.id[:], high&^0xf000|0x4000)
	binary.BigEndian.PutUint64(d.id[8:], low&^(3<<62)|2<<62)
	if d.traced = s.oneIn(rareTrace); d.traced {
		for i := 0; i < len(d.trace); i += 8 {
			binary.BigEndian.PutUint64(d.trace[i:], s.Uint64())
		}
	}
	rare := s.Uint64()
	d.client = uint32(rare)
	d.slash = rare>>32%rareSlash == 0
	d.input = int(s.below(uint64(w.inputs)))

	w.drawOutcome(d)
	w.drawMetrics(d)
}

// next returns the time of the next decision.
func (w *drawer) next() time.Time {
	w.now += w.source.draw(w.pause, w.load.now)
	for minute := w.now / int64(time.Minute); w.minute < minute; w.minute++ {
		if w.minute < minute-100 { // these waves are over
			w.minute = minute - 100
		}
		w.load.step(w.waves)
		w.slow.step(w.waves)
	}
	return w.start.Add(time.Duration(w.now))
}

func (w *drawer) drawOutcome(d *decision) {
	s, p := w.source, d.profile
	d.result, d.failure, d.erased = "", nil, ""
	fate := s.below(1024)
	switch {
	case fate < p.failed:
		d.failure = &failures[s.below(uint64(len(failures)))]
		d.outcome = d.failure.outcome
	case fate < p.failed+p.undefined:
		d.outcome = rollup.Undefined
		if s.oneIn(8) {
			d.failure = &noDocument
		}
	case s.oneIn(rareHidden):
		d.erased, d.outcome = "/result", rollup.OtherResult
	default:
		r := &p.results[s.below(uint64(len(p.results)))]
		d.result, d.outcome = r.json, r.outcome
		if p.input && s.oneIn(rareErased) {
			d.erased = "/input/password"
		}
	}
}

func (w *drawer) drawMetrics(d *decision) {
	s, p, n, drift := w.source, d.profile, &d.metrics, w.slow.now
	n.clear()
	within := int64(0) // in the handler
	if p.input {
		within += w.put(d, inputParse, s.draw(w.parseTime, drift))
	}
	if p.name != rollup.Query {
		n.counters[queryCacheHit] = 1
	}
	if n.counters[queryCacheHit] < 0 || s.oneIn(rareMiss) {
		n.counters[queryCacheHit] = min(n.counters[queryCacheHit], 0)
		within += w.put(d, queryParse, s.draw(queryParseTime, drift))
		within += w.put(d, compile, s.draw(compileTime, drift))
	}

	own := s.draw(p.eval, drift)
	within += w.put(d, eval, own+w.put(d, resolve, s.draw(resolveTime, drift))+w.drawHTTP(d))
	if s.oneIn(rareInstrument) {
		n.timers[evalPlug], n.timers[evalRuleIndex] = own/8+1, own/16+1
		n.counters[baseCacheHit], n.counters[baseCacheMiss] = own%7, 1
	}

	w.put(d, handler, within+s.draw(handlerTime, drift))
	if p.name == rollup.Query || s.oneIn(rareUnfinished) {
		n.timers[handler] = 0
	}
}

// put sets a timer, and returns it: made longer if it is that of the
// regression.
func (w *drawer) put(d *decision, s stage, ns int64) int64 {
	if s == w.worse && d.path == w.worsePath && w.now >= w.worseFrom {
		ns = int64(float64(ns) * w.options.Regression.Factor)
	}
	d.metrics.timers[s] = ns
	return ns
}

// drawHTTP draws what http.send took, if the policy calls it.
func (w *drawer) drawHTTP(d *decision) int64 {
	if !d.profile.httpSend {
		return 0
	}
	if w.source.oneIn(rareNetwork) {
		d.metrics.counters[httpRequests] = 1
		return w.put(d, httpSend, w.source.draw(networkTime, w.slow.now))
	}
	d.metrics.counters[httpCacheHits] = 1
	return w.put(d, httpSend, w.source.draw(cachedTime, w.slow.now))
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollup_test measures package rollup on decisions of an OPA server,
// beside what bounds it from below.
package rollup_test

import (
	"testing"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/rollup"
)

// timers and counters are those of a POST to a server's Data API whose policy
// calls http.send and whose query is cached, but for one that is not.
var (
	timers = []string{
		opametrics.ServerHandler, opametrics.RegoInputParse, opametrics.RegoQueryParse,
		opametrics.RegoQueryCompile, opametrics.RegoQueryEval, "rego_builtin_http_send",
	}
	counters = []string{opametrics.ServerQueryCacheHit, "rego_builtin_http_send_network_requests"}
)

const path = "authz/http/allow"

// decisions is how many different decisions are added in turn, so that the
// branch predictor cannot learn them.
const decisions = 16

// nanoseconds returns what a timer of a decision has.
func nanoseconds(decision, timer int) int64 {
	return int64(50_000<<(decision%5)+decision*7919) / int64(timer+1)
}

func maps() (all [decisions]map[string]any) {
	for i := range all {
		all[i] = map[string]any{}
		for j, name := range timers {
			all[i]["timer_"+name+"_ns"] = nanoseconds(i, j)
		}
		for _, name := range counters {
			all[i]["counter_"+name] = uint64(i)
		}
	}
	return all
}

func collections(b *testing.B) (all [decisions]metrics.Metrics) {
	for i := range all {
		all[i] = metrics.New()
		for _, name := range timers {
			all[i].Timer(name).Start()
		}
		for _, name := range timers {
			if all[i].Timer(name).Stop() == 0 {
				b.Fatal("the clock stands still")
			}
		}
		for _, name := range counters {
			all[i].Counter(name).Add(uint64(i))
		}
	}
	return all
}

func numbers() (all [decisions][]rollup.Number) {
	for i := range all {
		for j, name := range timers {
			all[i] = append(all[i], rollup.Number{Key: "timer_" + name + "_ns", Value: nanoseconds(i, j)})
		}
		for _, name := range counters {
			all[i] = append(all[i], rollup.Number{Key: "counter_" + name, Value: int64(i)})
		}
	}
	return all
}

func newRollup(b *testing.B) *rollup.Rollup {
	r, err := rollup.New(rollup.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// run measures add, which adds the i-th decision, as what impl does, with one
// goroutine and with two.
func run(b *testing.B, impl string, add func(i int)) {
	for i := range 100 * decisions { // the histograms learn the range
		add(i % decisions)
	}
	b.Run("goroutines=1/impl="+impl, func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			add(i % decisions)
			i++
		}
	})
	b.Run("goroutines=2/impl="+impl, func(b *testing.B) {
		b.ReportAllocs()
		done := make(chan struct{})
		half := func() {
			for i := range b.N / 2 {
				add(i % decisions)
			}
		}
		go func() {
			defer close(done)
			half()
		}()
		half()
		<-done
	})
}

// BenchmarkAdd folds in decisions in each of the forms that a rollup takes.
// Two things bound it from below: going over a decision's map (impl=map), and
// recording its timers in a histogram each (impl=record).
func BenchmarkAdd(b *testing.B) {
	b.Run("form=map", func(b *testing.B) {
		r, all := newRollup(b), maps()
		run(b, "regometer", func(i int) { r.Add(rollup.Decision{Path: path}, all[i]) })
		run(b, "map", func(i int) {
			n := int64(0)
			for _, v := range all[i] {
				if t, ok := v.(int64); ok {
					n += t
				}
			}
			if n == 0 {
				panic("no timers")
			}
		})
		histograms := make([]*exphist.Histogram, len(timers))
		for i := range histograms {
			histograms[i] = exphist.New(exphist.Nanosecond)
		}
		run(b, "record", func(i int) {
			for j, h := range histograms {
				h.Record(nanoseconds(i, j))
			}
		})
	})
	b.Run("form=collection", func(b *testing.B) {
		r, all := newRollup(b), collections(b)
		run(b, "regometer", func(i int) { r.AddMetrics(rollup.Decision{Path: path}, all[i]) })
	})
	b.Run("form=numbers", func(b *testing.B) {
		r, all := newRollup(b), numbers()
		run(b, "regometer", func(i int) { r.AddNumbers(rollup.Decision{Path: path}, all[i]) })
	})
}

// BenchmarkSnapshot takes snapshots of a full rollup, as a scrape does.
func BenchmarkSnapshot(b *testing.B) {
	r, all := newRollup(b), maps()
	for p := range 100 {
		for i := range all {
			r.Add(rollup.Decision{Path: string(rune(0x41 + p))}, all[i])
		}
	}
	var s rollup.Snapshot
	r.Snapshot(&s)
	b.ReportAllocs()
	for b.Loop() {
		r.Snapshot(&s)
	}
}

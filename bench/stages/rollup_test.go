// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"fmt"
	"sync"
	"testing"
	"time"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/rollup"
)

// timers and counters are those of a POST to a server's Data API whose policy
// calls http.send. A server records either the cache hit or two of the timers.
var (
	timers = []string{
		opametrics.ServerHandler, opametrics.RegoInputParse, opametrics.RegoQueryParse,
		opametrics.RegoQueryCompile, opametrics.RegoQueryEval, "rego_builtin_http_send",
	}
	counters = []string{opametrics.ServerQueryCacheHit, "rego_builtin_http_send_network_requests"}
)

const path = "rbac/allow"

// decisions is the number of different decisions that are added in turn, so
// that the branch predictor cannot learn them.
const decisions = 16

// nanoseconds returns the time of a decision's timer.
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

func collections() (all [decisions]metrics.Metrics) {
	for i := range all {
		all[i] = metrics.New()
		for _, name := range timers {
			all[i].Timer(name).Start()
			time.Sleep(time.Duration(i*7) * time.Microsecond)
			all[i].Timer(name).Stop()
		}
		for _, name := range counters {
			all[i].Counter(name).Add(uint64(i))
		}
	}
	return all
}

// numbers does what the binary of `regometer build` does for the plugin: there
// OPA's collections are Regometer's.
func numbers(dst []rollup.Number, m metrics.Metrics) []rollup.Number {
	for metric := range metrics.Each(m) {
		switch metric.Kind() {
		case metrics.KindTimer:
			dst = append(dst, rollup.Number{Key: metric.Key(), Value: metric.Int64()})
		case metrics.KindCounter:
			dst = append(dst, rollup.Number{Key: metric.Key(), Value: int64(metric.Uint64())})
		}
	}
	return dst
}

// parsed returns the numbers of collections.
func parsed(all [decisions]metrics.Metrics) (parsed [decisions][]rollup.Number) {
	for i, m := range all {
		parsed[i] = numbers(nil, m)
	}
	return parsed
}

func newRollup(b *testing.B, o rollup.Options) *rollup.Rollup {
	b.Helper()
	r, err := rollup.New(o)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// measure adds decisions in turn, with one goroutine and with two.
func measure(b *testing.B, impl string, add func(decision int)) {
	for i := range 100 * decisions { // the histograms learn the range
		add(i % decisions)
	}
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d/impl=%s", goroutines, impl), func(b *testing.B) {
			bench.Spread(b, goroutines, func(n int) {
				for i := range n {
					add(i % decisions)
				}
			})
		})
	}
}

// BenchmarkAdd adds decisions whose metrics are in each of the usual forms.
// Two things bound it from below: going over a decision's map (impl=map), and
// recording its timers in a histogram each (impl=record).
func BenchmarkAdd(b *testing.B) {
	b.Run("form=map", func(b *testing.B) {
		r, all := newRollup(b, rollup.Options{}), maps()
		measure(b, "regometer", func(i int) { r.Add(rollup.Decision{Path: path, Metrics: all[i]}) })
		measure(b, "map", func(i int) {
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
			histograms[i] = exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
		}
		measure(b, "record", func(i int) {
			for j, h := range histograms {
				h.Record(nanoseconds(i, j))
			}
		})
	})
	b.Run("form=collection", func(b *testing.B) {
		r, all := newRollup(b, rollup.Options{}), collections()
		buffers := sync.Pool{New: func() any { return new([]rollup.Number) }}
		measure(b, "regometer", func(i int) {
			buffer := buffers.Get().(*[]rollup.Number)
			*buffer = numbers((*buffer)[:0], all[i])
			r.Add(rollup.Decision{Path: path, Numbers: *buffer})
			buffers.Put(buffer)
		})
	})
	b.Run("form=numbers", func(b *testing.B) { addNumbers(b, "regometer", rollup.Options{}) })
}

// addNumbers measures the rollup alone, with numbers as the plugin gives them.
func addNumbers(b *testing.B, impl string, o rollup.Options) {
	r, all := newRollup(b, o), parsed(collections())
	measure(b, impl, func(i int) { r.Add(rollup.Decision{Path: path, Numbers: all[i]}) })
}

// BenchmarkSnapshot takes snapshots of a full rollup, as a scrape does.
func BenchmarkSnapshot(b *testing.B) {
	r, all := newRollup(b, rollup.Options{}), maps()
	for p := range 100 {
		for i := range all {
			r.Add(rollup.Decision{Path: string(rune(0x41 + p)), Metrics: all[i]})
		}
	}
	var s rollup.Snapshot
	r.Snapshot(&s)
	b.ReportAllocs()
	for b.Loop() {
		r.Snapshot(&s)
	}
}

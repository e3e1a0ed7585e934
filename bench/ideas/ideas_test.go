// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package ideas measures each idea of OPA's pull request 8113 by itself: a step
// as OPA does it, or a small model of it (impl=without), and the same step with
// the idea (impl=with). docs/design.md has the figures.
package ideas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unique"

	opa "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/bench"
)

// compare measures both ways to do a step, in a random order.
func compare(b *testing.B, without, with func()) {
	for name, do := range map[string]func(){"impl=without": without, "impl=with": with} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// What the steps write: the memory is there before.
var (
	texts = make([]string, 30)
	text  = make([]byte, 0, 8192)
)

var names = bench.Names("rego_timer_example_%d", 30)

// collection returns a collection of OPA's with 10 timers, 10 counters and 10
// histograms of 100 scattered values.
func collection() opa.Metrics {
	m := opa.New()
	for i := range 10 {
		m.Timer(names[i]).Start()
		m.Timer(names[i]).Stop()
		m.Counter(names[i]).Add(uint64(1000 + i))
		for _, v := range bench.Values(uint64(i), 100) {
			m.Histogram(names[i]).Update(v)
		}
	}
	return m
}

// BenchmarkHandWrittenJSON encodes the map of a collection.
func BenchmarkHandWrittenJSON(b *testing.B) {
	all := collection().All()
	want, err := json.Marshal(all)
	if got := appendMap(nil, all); err != nil || !bytes.Equal(got, want) {
		b.Fatalf("%v: %s, want %s", err, got, want)
	}
	compare(b, func() { _, _ = json.Marshal(all) }, func() { appendMap(nil, all) })
}

// fields are the names of a histogram's fields, in the order of encoding/json.
var fields = strings.Fields("75% 90% 95% 99% 99.9% 99.99% count max mean median min stddev")

func appendMap(dst []byte, all map[string]any) []byte {
	keys := slices.AppendSeq(make([]string, 0, len(all)), maps.Keys(all))
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, key), ':')
		histogram, ok := all[key].(map[string]any)
		if !ok {
			dst = appendNumber(dst, all[key])
			continue
		}
		for i, field := range fields {
			dst = append(dst, "{,"[min(i, 1)])
			dst = append(appendQuoted(dst, field), ':')
			dst = appendNumber(dst, histogram[field])
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func appendNumber(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	default: // no number here needs an exponent
		return strconv.AppendFloat(dst, v.(float64), 'f', -1, 64)
	}
}

// appendQuoted appends s as a JSON string. It must look at each byte, though no
// string here needs an escape.
func appendQuoted(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			panic(s)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

func formatKey(name string) string { return "timer_" + name + "_ns" }

func formatKeys() {
	for i, name := range names {
		texts[i] = formatKey(name)
	}
}

type metric struct{ name, key string }

// BenchmarkKeysKept reads the keys of 30 metrics that are read again and again.
func BenchmarkKeysKept(b *testing.B) {
	metrics := make([]metric, len(names))
	for i, name := range names {
		metrics[i] = metric{name, formatKey(name)}
	}
	compare(b, formatKeys, func() {
		for i := range metrics {
			texts[i] = metrics[i].key
		}
	})
}

// BenchmarkKeysKeptOnce reads the keys of a request's collection, which is new.
func BenchmarkKeysKeptOnce(b *testing.B) {
	compare(b, func() {
		var metrics [5]metric
		for i := range metrics {
			metrics[i].name = names[i]
		}
		for i := range metrics {
			texts[i] = formatKey(metrics[i].name)
		}
	}, func() {
		var metrics [5]metric
		for i := range metrics {
			metrics[i].name = names[i]
		}
		for i := range metrics {
			if metrics[i].key == "" {
				metrics[i].key = formatKey(metrics[i].name)
			}
			texts[i] = metrics[i].key
		}
	})
}

// BenchmarkKeysInTable finds keys by name in a table that all collections share.
func BenchmarkKeysInTable(b *testing.B) {
	table := map[string]string{}
	for _, name := range bench.Names("rego_timer_example_%d", 1000) {
		table[name] = formatKey(name)
	}
	compare(b, formatKeys, func() {
		for i, name := range names {
			texts[i] = table[name]
		}
	})
}

// found keeps the compiler from leaving out a look-up.
var found int

// byName has the metrics of a collection. The names that callers have are other
// strings.
func byName[K comparable](key func(name string) K) map[K]int {
	table := map[K]int{}
	for i, name := range bench.Names("rego_timer_example_%d", 30) {
		table[key(name)] = i
	}
	return table
}

func itself(name string) string { return name }

func findByName(table map[string]int) func() {
	return func() {
		for _, name := range names {
			found += table[name]
		}
	}
}

// BenchmarkUniqueKeys finds 30 metrics by name, or by a handle of the name,
// which callers do not have and so must make.
func BenchmarkUniqueKeys(b *testing.B) {
	table := byName(unique.Make[string])
	compare(b, findByName(byName(itself)), func() {
		for _, name := range names {
			found += table[unique.Make(name)]
		}
	})
}

// BenchmarkHashedKeys finds 30 metrics by name, or by a hash of the name. The
// names must be compared too, because hashes may be equal.
func BenchmarkHashedKeys(b *testing.B) {
	seed := maphash.MakeSeed()
	hash := func(name string) uint64 { return maphash.String(seed, name) }
	table, owners := byName(hash), bench.Names("rego_timer_example_%d", 30)
	compare(b, findByName(byName(itself)), func() {
		for _, name := range names {
			if i := table[hash(name)]; owners[i] == name {
				found += i
			}
		}
	})
}

// BenchmarkPooledResults makes the map of a request's five metrics. A pooled
// map must be copied, because the result belongs to the caller, who keeps it.
func BenchmarkPooledResults(b *testing.B) {
	pool := sync.Pool{New: func() any { return make(map[string]any, 5) }}
	fill := func(m map[string]any) {
		for _, name := range names[:5] {
			m[name] = boxed
		}
	}
	var result map[string]any
	compare(b, func() {
		result = make(map[string]any, 5)
		fill(result)
	}, func() {
		m := pool.Get().(map[string]any)
		fill(m)
		result = maps.Clone(m)
		clear(m)
		pool.Put(m)
	})
	_ = result
}

func BenchmarkIntegersWithoutFmt(b *testing.B) {
	values := bench.Values(1, 30)
	compare(b, func() {
		dst := text
		for _, v := range values {
			dst = fmt.Appendf(dst, "%d", v)
		}
	}, func() {
		dst := text
		for _, v := range values {
			dst = strconv.AppendInt(dst, v, 10)
		}
	})
}

//go:noinline
func percentiles(sorted []int64, ps []float64) []float64 {
	scores := make([]float64, len(ps))
	for i, p := range ps {
		scores[i] = percentile(sorted, p)
	}
	return scores
}

func percentile(sorted []int64, p float64) float64 {
	n := len(sorted)
	pos := p * float64(n+1)
	switch {
	case pos < 1:
		return float64(sorted[0])
	case pos >= float64(n):
		return float64(sorted[n-1])
	}
	lower, upper := float64(sorted[int(pos)-1]), float64(sorted[int(pos)])
	return lower + (pos-math.Floor(pos))*(upper-lower)
}

var percentileList = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}

var sorted = slices.Sorted(slices.Values(bench.Values(1, 100)))

// BenchmarkSharedPercentileList takes seven percentiles of values in order.
func BenchmarkSharedPercentileList(b *testing.B) {
	compare(b, func() { percentiles(sorted, []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}) },
		func() { percentiles(sorted, percentileList) })
}

var boxed any = 1234.5

// BenchmarkInternedFields makes the map of a histogram's twelve fields.
func BenchmarkInternedFields(b *testing.B) {
	var handles [12]unique.Handle[string]
	for i, field := range fields {
		handles[i] = unique.Make(field)
	}
	compare(b, func() {
		m := make(map[string]any, 12)
		for _, field := range [...]string{"count", "min", "max", "mean", "stddev", "median", "75%", "90%", "95%", "99%", "99.9%", "99.99%"} {
			m[field] = boxed
		}
	}, func() {
		m := make(map[string]any, 12)
		for i := range handles {
			m[handles[i].Value()] = boxed
		}
	})
}

// BenchmarkPooledBuilder writes about 3 KB of text. A pooled buffer must be
// copied, because the result belongs to the caller.
func BenchmarkPooledBuilder(b *testing.B) {
	pieces := bytes.SplitAfter(appendMap(nil, collection().All()), []byte(","))
	pool := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	write := func(b *bytes.Buffer) {
		for _, piece := range pieces {
			b.Write(piece)
		}
	}
	compare(b, func() { write(new(bytes.Buffer)) }, func() {
		b := pool.Get().(*bytes.Buffer)
		b.Reset()
		write(b)
		bytes.Clone(b.Bytes())
		pool.Put(b)
	})
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ideas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unique"

	opa "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/bench"
)

// collection is OPA's: 10 timers, 10 counters and 10 histograms of 100 values,
// as in OPA's BenchmarkMetricsMarshaling, but with scattered values. Nothing
// here updates it.
var collection = sync.OnceValue(func() opa.Metrics {
	m := opa.New()
	for i := range 10 {
		t := m.Timer(fmt.Sprintf("rego_timer_example_%d", i))
		t.Start()
		t.Stop()
		m.Counter(fmt.Sprintf("rego_counter_example_%d", i)).Add(uint64(1000 + i))
		h := m.Histogram(fmt.Sprintf("rego_histogram_example_%d", i))
		for _, v := range bench.Values(uint64(i), 100) {
			h.Update(v)
		}
	}
	return m
})

// Hand-written JSON: the encoding of a map that is there.

func encodingJSON() func() []byte { return marshal(collection().All()) }

func handWritten() func() []byte {
	all := collection().All()
	return func() []byte { return appendMap(nil, all) }
}

// The same in its place: OPA's collection makes the map, encodes it, and
// encoding/json checks what its MarshalJSON returns.

func opaMarshal() func() []byte { return marshal(collection()) }

func handWrittenMarshal() func() []byte { return marshal(marshaler{collection()}) }

func marshal(v any) func() []byte {
	return func() []byte {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return b
	}
}

type marshaler struct{ opa.Metrics }

func (m marshaler) MarshalJSON() ([]byte, error) { return appendMap(nil, m.All()), nil }

// fields are the names of a histogram's fields, in the order of encoding/json.
var fields = strings.Fields("75% 90% 95% 99% 99.9% 99.99% count max mean median min stddev")

// appendMap appends what json.Marshal gives for the map of a collection.
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

// written returns a step that writes into a buffer.
func written(write func(dst []byte) []byte) func() []byte {
	buf := make([]byte, 0, 4096)
	return func() []byte { return write(buf) }
}

// listed returns a step that sets n keys.
func listed(n int, set func(keys []string)) func() []string {
	keys := make([]string, n)
	return func() []string {
		set(keys)
		return keys
	}
}

// Keys formatted once: a key from its name each time, as OPA does, or from the
// metric that keeps it, or from a table that all collections share.

type metric struct{ name, key string }

var names = bench.Names("rego_timer_example_%d", 30)

func formatKey(name string) string { return "timer_" + name + "_ns" }

func keysFormatted() func() []string {
	return listed(len(names), func(keys []string) {
		for i, name := range names {
			keys[i] = formatKey(name)
		}
	})
}

func keysKept() func() []string {
	metrics := make([]metric, len(names))
	for i, name := range names {
		metrics[i] = metric{name, formatKey(name)}
	}
	return listed(len(names), func(keys []string) {
		for i := range metrics {
			keys[i] = metrics[i].key
		}
	})
}

func keysInTable() func() []string {
	table := map[string]string{}
	for _, name := range bench.Names("rego_timer_example_%d", 1000) {
		table[name] = formatKey(name)
	}
	return listed(len(names), func(keys []string) {
		for i, name := range names {
			keys[i] = table[name]
		}
	})
}

// The collection of a request is new, and its keys are used once.

func keysFormattedOnce() func() []string {
	return listed(5, func(keys []string) {
		var metrics [5]metric
		for i := range metrics {
			metrics[i].name = names[i]
		}
		for i := range metrics {
			keys[i] = formatKey(metrics[i].name)
		}
	})
}

func keysKeptOnce() func() []string {
	return listed(5, func(keys []string) {
		var metrics [5]metric
		for i := range metrics {
			metrics[i].name = names[i]
		}
		for i := range metrics {
			if metrics[i].key == "" {
				metrics[i].key = formatKey(metrics[i].name)
			}
			keys[i] = metrics[i].key
		}
	})
}

// Keys kept as JSON: quoting and escaping a finished key, or appending the
// finished text.

func keysEscaped() func() []byte {
	keys := keysFormatted()()
	return written(func(dst []byte) []byte {
		for _, key := range keys {
			dst = append(appendQuoted(dst, key), ':')
		}
		return dst
	})
}

func keysReady() func() []byte {
	var texts []string
	for _, key := range keysFormatted()() {
		texts = append(texts, string(appendQuoted(nil, key))+":")
	}
	return written(func(dst []byte) []byte {
		for _, text := range texts {
			dst = append(dst, text...)
		}
		return dst
	})
}

// Integers without fmt.

func integersByFmt() func() []byte {
	values := bench.Values(1, 30)
	return written(func(dst []byte) []byte {
		for _, v := range values {
			dst = fmt.Appendf(dst, "%d", v)
		}
		return dst
	})
}

func integersByStrconv() func() []byte {
	values := bench.Values(1, 30)
	return written(func(dst []byte) []byte {
		for _, v := range values {
			dst = strconv.AppendInt(dst, v, 10)
		}
		return dst
	})
}

// String is the only place where OPA formats with fmt. There are no histograms,
// because both sides format them with fmt.

func numbers() opa.Metrics {
	m := opa.New()
	for i, name := range names {
		m.Counter(name).Add(uint64(1000 + i))
	}
	return m
}

func opaString() func() string {
	return numbers().(fmt.Stringer).String
}

func stringByStrconv() func() string {
	m := numbers()
	return func() string {
		all := m.All()
		type pair struct {
			key   string
			value any
		}
		sorted := make([]pair, 0, len(all))
		for key, value := range all {
			sorted = append(sorted, pair{key, value})
		}
		slices.SortFunc(sorted, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		texts := make([]string, len(sorted))
		for i, p := range sorted {
			texts[i] = p.key + ":" + strconv.FormatUint(p.value.(uint64), 10)
		}
		return strings.Join(texts, " ")
	}
}

// One percentile list. The values are in order already.

func sortedValues() []int64 {
	values := bench.Values(1, 100)
	slices.Sort(values)
	return values
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

func percentileListPerCall() func() [7]float64 {
	values := sortedValues()
	return func() [7]float64 {
		return [7]float64(percentiles(values, []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}))
	}
}

func percentileListShared() func() [7]float64 {
	values := sortedValues()
	return func() [7]float64 { return [7]float64(percentiles(values, percentileList)) }
}

// The same where the list is handed to an interface's method, as when OPA's
// histograms were those of rcrowley/go-metrics: it escapes.

type percentiler interface{ Percentiles([]float64) []float64 }

type snapshot []int64

func (s snapshot) Percentiles(ps []float64) []float64 { return percentiles(s, ps) }

var snapshots = []percentiler{snapshot(sortedValues())} // a variable, so that calls stay indirect

func percentileListEscaping() func() [7]float64 {
	return func() [7]float64 {
		return [7]float64(snapshots[0].Percentiles([]float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}))
	}
}

func percentileListSharedBehind() func() [7]float64 {
	return func() [7]float64 { return [7]float64(snapshots[0].Percentiles(percentileList)) }
}

// This is what has become of it: no list at all, and no list of results.
func percentilesAsConstants() func() [7]float64 {
	values := sortedValues()
	return func() (s [7]float64) {
		s[0] = percentile(values, 0.5)
		s[1] = percentile(values, 0.75)
		s[2] = percentile(values, 0.9)
		s[3] = percentile(values, 0.95)
		s[4] = percentile(values, 0.99)
		s[5] = percentile(values, 0.999)
		s[6] = percentile(values, 0.9999)
		return s
	}
}

// Interned field names, in a map of a histogram's fields.

var boxed any = 1234.5

func fieldsByConstant() func() map[string]any {
	return func() map[string]any {
		m := make(map[string]any, 12)
		m["count"] = boxed
		m["min"] = boxed
		m["max"] = boxed
		m["mean"] = boxed
		m["stddev"] = boxed
		m["median"] = boxed
		m["75%"] = boxed
		m["90%"] = boxed
		m["95%"] = boxed
		m["99%"] = boxed
		m["99.9%"] = boxed
		m["99.99%"] = boxed
		return m
	}
}

func fieldsInterned() func() map[string]any {
	var handles [12]unique.Handle[string]
	for i, field := range fields {
		handles[i] = unique.Make(field)
	}
	return func() map[string]any {
		m := make(map[string]any, 12)
		for i := range handles {
			m[handles[i].Value()] = boxed
		}
		return m
	}
}

// This is what has become of it: each field's name is a label with its
// punctuation.

func fieldsQuoted() func() []byte {
	return written(func(dst []byte) []byte {
		for i, field := range fields {
			dst = append(dst, "{,"[min(i, 1)])
			dst = append(appendQuoted(dst, field), ':')
		}
		return dst
	})
}

func fieldsAsLabels() func() []byte {
	var labels [12]string
	for i, field := range fields {
		labels[i] = "{,"[min(i, 1):][:1] + `"` + field + `":`
	}
	return written(func(dst []byte) []byte {
		for i := range labels {
			dst = append(dst, labels[i]...)
		}
		return dst
	})
}

// Pooled builders: the text of the map in a buffer that is made, or made in
// the size that the last one had, or taken from a pool. The result is the
// caller's, so what is pooled must be copied. What is written is ready: the
// step is the buffer alone.

var pieces = sync.OnceValue(func() [][]byte {
	return bytes.SplitAfter(appendMap(nil, collection().All()), []byte(","))
})

func builderMade() func() []byte { return builder(0) }

func builderSized() func() []byte { return builder(len(bytes.Join(pieces(), nil))) }

func builder(size int) func() []byte {
	pieces := pieces()
	return func() []byte {
		var b bytes.Buffer
		b.Grow(size)
		for _, piece := range pieces {
			b.Write(piece)
		}
		return b.Bytes()
	}
}

var builders = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func builderPooled() func() []byte {
	pieces := pieces()
	return func() []byte {
		b := builders.Get().(*bytes.Buffer)
		b.Reset()
		for _, piece := range pieces {
			b.Write(piece)
		}
		result := bytes.Clone(b.Bytes())
		builders.Put(b)
		return result
	}
}

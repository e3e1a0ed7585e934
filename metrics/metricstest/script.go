// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/metrics"
)

// behaviour is a row of the tables.
type behaviour struct {
	name  string // of the subtest
	rule  string // the behaviour in words
	check func(s *script)
}

// methods are the methods that have the same types in both packages.
type methods interface {
	All() map[string]any
	Clear()
	json.Marshaler
}

// collection has the methods of an implementation's collection, with the types
// of package metrics.
type collection interface {
	Timer(name string) metrics.Timer
	Histogram(name string) metrics.Histogram
	Counter(name string) metrics.Counter
	All() map[string]any
	Clear()
	json.Marshaler
	info() any   // the result of Info
	unwrap() any // the implementation's own value
}

// adapter calls the other methods by their names.
type adapter struct{ methods }

func (a adapter) call(method string, arguments ...any) any {
	in := make([]reflect.Value, len(arguments))
	for i := range arguments {
		in[i] = reflect.ValueOf(arguments[i])
	}
	return reflect.ValueOf(a.methods).MethodByName(method).Call(in)[0].Interface()
}

func (a adapter) Timer(name string) metrics.Timer { return a.call("Timer", name).(metrics.Timer) }
func (a adapter) Histogram(name string) metrics.Histogram {
	return a.call("Histogram", name).(metrics.Histogram)
}
func (a adapter) Counter(name string) metrics.Counter {
	return a.call("Counter", name).(metrics.Counter)
}
func (a adapter) info() any   { return a.call("Info") }
func (a adapter) unwrap() any { return a.methods }

// script makes the same calls on a collection and on a model of it. It compares
// a metric after each step. check compares all outputs.
type script struct {
	*testing.T
	collection
	newCollection func() collection
	metrics       map[string]*metric // of the model, by key
	handles       map[any]*metric    // including metrics from before Clear
}

// metric is a metric of the model, with its handle in the collection.
type metric struct {
	*script
	kind   metrics.Kind
	key    string
	handle any

	number  int64     // of a timer or a counter
	started time.Time // zero if the timer is not running
	values  []int64   // of a histogram
}

func newScript(t *testing.T, newCollection func() collection) *script {
	return &script{t, newCollection(), newCollection, map[string]*metric{}, map[any]*metric{}}
}

// another returns a script with a new collection.
func (s *script) another() *script { return newScript(s.T, s.newCollection) }

var kinds = []metrics.Kind{metrics.KindTimer, metrics.KindHistogram, metrics.KindCounter}

// keyOf returns the key of a metric in All.
func keyOf(kind metrics.Kind, name string) string {
	if kind == metrics.KindTimer {
		name += "_ns"
	}
	return kind.String() + "_" + name
}

// lookUp returns the handle of a metric.
func (s *script) lookUp(kind metrics.Kind, name string) any {
	switch kind {
	case metrics.KindTimer:
		return s.Timer(name)
	case metrics.KindCounter:
		return s.Counter(name)
	default:
		return s.Histogram(name)
	}
}

func (s *script) timer(name string) *metric     { return s.metric(metrics.KindTimer, name) }
func (s *script) histogram(name string) *metric { return s.metric(metrics.KindHistogram, name) }
func (s *script) counter(name string) *metric   { return s.metric(metrics.KindCounter, name) }

// metric looks a metric up and compares the handle with those of earlier
// look-ups.
func (s *script) metric(kind metrics.Kind, name string) *metric {
	s.Helper()
	handle, key := s.lookUp(kind, name), keyOf(kind, name)
	x := s.metrics[key]
	if x == nil {
		x = &metric{script: s, kind: kind, key: key, handle: handle}
		s.metrics[key] = x
		if other := s.handles[handle]; other != nil {
			s.Errorf("a new metric %.50q has the handle of %.50q", key, other.key)
		}
		s.handles[handle] = x
	}
	if handle != x.handle || s.lookUp(kind, strings.Clone(name)) != x.handle {
		s.Errorf("two look-ups of %.50q returned different handles", key)
	}
	return x
}

func (s *script) clear() {
	s.Clear()
	clear(s.metrics)
}

func (x *metric) start() {
	x.Helper()
	x.handle.(metrics.Timer).Start()
	x.started = time.Now()
	x.checkValue(x.handle.(metrics.Timer).Value())
}

func (x *metric) stop() {
	x.Helper()
	want := int64(0)
	if !x.started.IsZero() {
		want = int64(time.Since(x.started))
	}
	x.number += want
	x.started = time.Time{}
	timer := x.handle.(metrics.Timer)
	if got := timer.Stop(); got != want {
		x.Errorf("Stop of %.50q returned %d ns, want %d", x.key, got, want)
	}
	x.checkValue(timer.Value())
	x.checkValue(timer.Int64())
}

func (x *metric) add(n uint64) {
	x.Helper()
	counter := x.handle.(metrics.Counter)
	if n == 1 {
		counter.Incr()
	} else {
		counter.Add(n)
	}
	x.number += int64(n)
	x.checkValue(counter.Value())
}

func (x *metric) update(values ...int64) {
	x.Helper()
	histogram := x.handle.(metrics.Histogram)
	for _, v := range values {
		histogram.Update(v)
	}
	x.values = append(x.values, values...)
	x.checkValue(histogram.Value())
}

// checkValue compares a value of the metric with the model.
func (x *metric) checkValue(got any) {
	x.Helper()
	var err error
	switch {
	case x.kind == metrics.KindHistogram && len(x.values) > sampleSize:
		err = sampleError(got, x.values)
	case x.kind == metrics.KindHistogram:
		err = summaryError(got, summarize(x.values))
	case x.kind == metrics.KindTimer && got != x.number, x.kind == metrics.KindCounter && got != uint64(x.number):
		err = fmt.Errorf("the value is %T %v, want %d", got, got, x.number)
	}
	if err != nil {
		x.Errorf("%.50q: %v\nfor %d values %.500s", x.key, err, len(x.values), fmt.Sprint(x.values))
	}
}

// check compares all outputs with the model.
func (s *script) check() {
	s.Helper()
	all := s.All()
	s.checkMap("All", all, s.metrics)
	if tm, ok := s.unwrap().(metrics.TimerMetrics); ok {
		timers := maps.Clone(s.metrics)
		maps.DeleteFunc(timers, func(_ string, x *metric) bool { return x.kind != metrics.KindTimer })
		s.checkMap("Timers", tm.Timers(), timers)
	}

	want, err := json.Marshal(all)
	if err != nil {
		s.Fatal(err)
	}
	for name, got := range s.jsonTexts() {
		s.checkText(name, got, want)
	}
	if stringer, ok := s.unwrap().(fmt.Stringer); ok {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(all)) {
			parts = append(parts, fmt.Sprintf("%s:%v", key, all[key]))
		}
		s.checkText("String", []byte(stringer.String()), []byte(strings.Join(parts, " ")))
	}
}

// jsonTexts returns the JSON text from each function that writes one.
func (s *script) jsonTexts() map[string][]byte {
	s.Helper()
	own, err := s.MarshalJSON()
	encoded, err2 := json.Marshal(s.unwrap())
	if err := errors.Join(err, err2); err != nil {
		s.Error(err)
	}
	return map[string][]byte{"MarshalJSON": own, "json.Marshal": encoded}
}

// checkMap compares a map of values by key with metrics of the model.
func (s *script) checkMap(name string, got map[string]any, want map[string]*metric) {
	s.Helper()
	if got == nil {
		s.Errorf("%s returned nil", name)
	}
	gotKeys, wantKeys := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))
	if !slices.Equal(gotKeys, wantKeys) {
		s.Fatalf("%s has the keys\n%.2000q\nwant\n%.2000q", name, gotKeys, wantKeys)
	}
	for key, x := range want {
		x.checkValue(got[key])
	}
}

// checkText shows where two texts begin to differ.
func (s *script) checkText(name string, got, want []byte) {
	s.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-60)
	s.Errorf("%s differs, beginning at byte %d of %d:\n%.500q\nwant\n%.500q", name, i, len(want), got[from:], want[from:])
}

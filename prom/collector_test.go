// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

func collector(t testing.TB, r *rollup.Rollup, o prom.Options) *prom.Collector {
	t.Helper()
	c, err := prom.NewCollector(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestScrapeNeverBlocksRecording leaves a Collect stuck after its first metric,
// and records, and scrapes again.
func TestScrapeNeverBlocksRecording(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 100)
	c := collector(t, r, prom.Options{})
	stuck := make(chan prometheus.Metric)
	done := make(chan struct{})
	go func() { c.Collect(stuck); close(stuck); close(done) }()
	metrics := 1
	<-stuck

	fill(r, 100) // known labels
	for i := range 10 {
		r.Add(rollup.Decision{Path: fmt.Sprint("new", i), Outcome: rollup.Allowed}, map[string]any{"timer_server_handler_ns": int64(i + 1)})
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if got := gather(t, registry).value(t, "opa_decisions_total", "path", "new7", "outcome", rollup.Allowed.String()); got != 1 {
		t.Errorf("%v decisions of the new path, want 1", got)
	}

	for m := range stuck { // the stuck scrape is as it was
		metrics++
		var out dto.Metric
		if err := m.Write(&out); err != nil {
			t.Error(err)
		}
		if label(&out, "path") == "new7" {
			t.Errorf("%v came into a scrape that had begun", &out)
		}
	}
	<-done
	if metrics < 20 {
		t.Errorf("%d metrics", metrics)
	}
}

// TestScrapesAreKept asks that what one scrape returned does not change with
// later ones, whose memory is partly the same.
func TestScrapesAreKept(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	registry := newRegistry(t, r, prom.Options{})
	fill(r, 200)
	first, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]*dto.MetricFamily, len(first))
	for i, f := range first {
		kept[i] = proto.Clone(f).(*dto.MetricFamily)
	}
	for range 3 {
		fill(r, 200)
		gather(t, registry)
	}
	for i, f := range first {
		if !proto.Equal(f, kept[i]) {
			t.Errorf("%s changed", f.GetName())
		}
	}
}

// TestConcurrent scrapes from several goroutines while others record: totals
// never fall, and the last are exact.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const writers, scrapers, decisions = 2, 3, 10_000
	r := newRollup(t, rollup.Options{})
	registry := newRegistry(t, r, prom.Options{})
	totals := func() (n float64, samples uint64) {
		list, err := registry.Gather()
		if err != nil {
			t.Error(err)
		}
		for _, f := range list {
			for _, m := range f.GetMetric() {
				switch f.GetName() {
				case "opa_decisions_total":
					n += m.GetCounter().GetValue()
				case "opa_decision_stage_duration_seconds":
					decodeSpans(t, m.GetHistogram())
					samples += m.GetHistogram().GetSampleCount()
				}
			}
		}
		return n, samples
	}
	var recording, scraping sync.WaitGroup
	stop := make(chan struct{})
	for range writers {
		recording.Go(func() {
			for i := range decisions {
				r.Add(rollup.Decision{Path: fmt.Sprint("p", i%7), Outcome: rollup.Outcome(i % 6)}, map[string]any{"timer_server_handler_ns": int64(i + 1)})
			}
		})
	}
	for range scrapers {
		scraping.Go(func() {
			var n float64
			var samples uint64
			for {
				n2, samples2 := totals()
				if n2 < n || samples2 < samples {
					t.Errorf("%v decisions and %d samples after %v and %d", n2, samples2, n, samples)
				}
				n, samples = n2, samples2
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	recording.Wait()
	close(stop)
	scraping.Wait()
	if n, samples := totals(); n != writers*decisions || samples != writers*decisions {
		t.Errorf("%v decisions and %d samples, want %d", n, samples, writers*decisions)
	}
}

// TestReload replaces the collector by one of other options over the same
// rollup.
func TestReload(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	registry := prometheus.NewPedanticRegistry()
	old := collector(t, r, prom.Options{})
	registry.MustRegister(old)
	r.Add(rollup.Decision{Path: "p", Outcome: rollup.Allowed}, nil)
	gather(t, registry)

	reloaded := collector(t, r, prom.Options{MoreSeries: func() int { return 5 }})
	if err := registry.Register(reloaded); err == nil {
		t.Error("two collectors of one namespace could be registered")
	}
	if !registry.Unregister(old) {
		t.Error("could not be unregistered")
	}
	r.Add(rollup.Decision{Path: "p", Outcome: rollup.Allowed}, nil)
	if err := registry.Register(reloaded); err != nil {
		t.Fatal(err)
	}
	r.Add(rollup.Decision{Path: "p", Outcome: rollup.Allowed}, nil)
	if got := gather(t, registry).value(t, "opa_decisions_total", "path", "p", "outcome", rollup.Allowed.String()); got != 3 {
		t.Errorf("%v decisions, want 3", got)
	}
	b := encode(t, registry, text)
	if got, want := decode(t, b, text).value(t, "opa_decision_metric_series"), countSeries(b)+5; got != float64(want) {
		t.Errorf("%v series, want %d with those beside", got, want)
	}

	// A rollup with more stages comes under the same help text, or the registry
	// would refuse it.
	registry.Unregister(reloaded)
	more := newRollup(t, rollup.Options{Stages: []rollup.Stage{{Name: "mine", Parent: "server_handler", Help: "of mine"}}})
	if err := registry.Register(collector(t, more, prom.Options{})); err != nil {
		t.Error(err)
	}
	// Other namespaces are other metrics.
	if err := registry.Register(collector(t, r, prom.Options{Namespace: "second"})); err != nil {
		t.Error(err)
	}
	gather(t, registry)
}

// TestWrapped adds a label and a prefix, as a registry's wrapper does.
func TestWrapped(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 10)
	registry := prometheus.NewPedanticRegistry()
	prometheus.WrapRegistererWith(prometheus.Labels{"orange": "1"},
		prometheus.WrapRegistererWithPrefix("x_", registry)).MustRegister(collector(t, r, prom.Options{}))
	for range 2 {
		f := gather(t, registry)
		for name, family := range f {
			for _, m := range family.GetMetric() {
				if label(m, "orange") != "1" {
					t.Errorf("%s: %v", name, m)
				}
			}
		}
		if len(f["x_opa_decision_stage_duration_seconds"].GetMetric()) != 3 {
			t.Errorf("families %v", f)
		}
	}
}

// TestWrite asks that a metric is the same each time it is written, though a
// registry's wrapper has added to its labels and sorted them.
func TestWrite(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 10)
	ch := make(chan prometheus.Metric, 1000)
	collector(t, r, prom.Options{}).Collect(ch)
	close(ch)
	for m := range ch {
		var first, second dto.Metric
		if err := m.Write(&first); err != nil {
			t.Fatal(err)
		}
		want := proto.Clone(&first)
		slices.Reverse(append(first.Label, &dto.LabelPair{}))
		if err := m.Write(&second); err != nil || !proto.Equal(&second, want) {
			t.Errorf("%v: %v, %v, want %v", m.Desc(), &second, err, want)
		}
	}
}

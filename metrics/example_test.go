// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/regometer/regometer/metrics"
)

func ExampleNew() {
	m := metrics.New()

	m.Timer(metrics.RegoQueryEval).Start()
	time.Sleep(time.Millisecond)
	m.Timer(metrics.RegoQueryEval).Stop()

	m.Counter(metrics.ServerQueryCacheHit).Incr()

	fmt.Println(m.Timer(metrics.RegoQueryEval).Int64() >= 1_000_000)
	fmt.Println(m.Counter(metrics.ServerQueryCacheHit).Value())
	// Output:
	// true
	// 1
}

func ExampleAppendJSON() {
	m := metrics.New()
	m.Counter("requests").Add(12)
	m.Timer("idle")

	buffer := make([]byte, 0, 512) // kept for the next decision
	buffer, err := metrics.AppendJSON(buffer[:0], m)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", buffer)
	// Output: {"counter_requests":12,"timer_idle_ns":0}
}

func ExampleEach() {
	m := metrics.New()
	m.Counter("requests").Add(12)
	m.Timer("idle")
	m.Histogram("size").Update(300)

	var lines []string
	for metric := range metrics.Each(m) {
		switch metric.Kind() {
		case metrics.KindCounter:
			lines = append(lines, fmt.Sprintf("%s: %d", metric.Name(), metric.Uint64()))
		case metrics.KindTimer:
			lines = append(lines, fmt.Sprintf("%s: %v", metric.Name(), time.Duration(metric.Int64())))
		case metrics.KindHistogram:
			lines = append(lines, fmt.Sprintf("%s: at most %d", metric.Name(), metric.Summary().Max))
		}
	}
	slices.Sort(lines) // Each has no order
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// idle: 0s
	// requests: 12
	// size: at most 300
}

func ExampleStatistics() {
	b, err := json.Marshal(metrics.Statistics(4, 1, 3, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", b)
	// Output: {"75%":3.75,"90%":4,"95%":4,"99%":4,"99.9%":4,"99.99%":4,"count":4,"max":4,"mean":2.5,"median":2.5,"min":1,"stddev":1.118033988749895}
}

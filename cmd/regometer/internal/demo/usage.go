// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"
)

// usage is what a server has used up since it started, by its own account.
// What it does not export is NaN.
type usage struct {
	handlerSeconds float64 // in the handlers of /v1/data and /v1/query
	busySeconds    float64 // of Go's scheduler, on all its processors: all but idle time
	bytes          float64 // allocated
	allocations    float64
}

// usage asks the server. Go brings its scheduler's times up to date with each
// garbage collection, so that one is asked for first.
func (s *server) usage(ctx context.Context) (usage, error) {
	if _, err := s.Get(ctx, "/debug/pprof/heap?gc=1&debug=1"); err != nil {
		return usage{}, err
	}
	text, err := s.Get(ctx, "/metrics")
	if err != nil {
		return usage{}, err
	}
	return parseUsage(text), nil
}

func parseUsage(text []byte) usage {
	return usage{
		handlerSeconds: sumOf(text, "http_request_duration_seconds_sum",
			`handler="v1/data"`, `handler="v1/query"`),
		busySeconds: sumOf(text, "go_cpu_classes_total_cpu_seconds_total") -
			sumOf(text, "go_cpu_classes_idle_cpu_seconds_total"),
		bytes:       sumOf(text, "go_memstats_alloc_bytes_total"),
		allocations: sumOf(text, "go_memstats_mallocs_total"),
	}
}

// sumOf adds up the samples of a metric in Prometheus text, of those with one
// of the labels if any are given. Without a sample it returns NaN.
func sumOf(text []byte, name string, labels ...string) float64 {
	sum, found := 0.0, false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		match := len(labels) == 0
		for _, label := range labels {
			match = match || strings.Contains(rest, label)
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if match && err == nil {
			sum, found = sum+value, true
		}
	}
	if !found {
		return math.NaN()
	}
	return sum
}

func (u usage) minus(v usage) usage {
	return usage{
		u.handlerSeconds - v.handlerSeconds, u.busySeconds - v.busySeconds,
		u.bytes - v.bytes, u.allocations - v.allocations,
	}
}

// per divides by a number of decisions.
func (u usage) per(n int) usage {
	d := float64(n)
	return usage{u.handlerSeconds / d, u.busySeconds / d, u.bytes / d, u.allocations / d}
}

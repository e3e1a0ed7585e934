// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/opaserver"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// total adds up the metrics of a name in a server's answer to GET /metrics.
// With labels, such as handler="v1/data", it adds up only the metrics that have
// one of the labels.
func total(metrics []byte, name string, labels ...string) (sum float64) {
	for line := range strings.Lines(string(metrics)) {
		end := strings.LastIndexByte(line, ' ')
		metric, itsLabels, _ := strings.Cut(line[:max(end, 0)], "{")
		if metric == name && (labels == nil || slices.ContainsFunc(labels, func(l string) bool { return strings.Contains(itsLabels, l) })) {
			n, _ := strconv.ParseFloat(strings.TrimSpace(line[end:]), 64) // an error gives 0, which used reports
			sum += n
		}
	}
	return sum
}

// costKinds are the kinds of costs, which each server counts from its start. Go
// updates the busy time at each garbage collection.
var costKinds = []struct {
	name, title string
	format      func(float64) string
	used        func(metrics []byte) float64
}{
	{"handler_us", "time in the handler", formatMicroseconds, func(metrics []byte) float64 {
		return 1e6 * total(metrics, "http_request_duration_seconds_sum", `handler="v1/data"`, `handler="v1/query"`)
	}},
	{"busy_us", "busy time", formatMicroseconds, func(metrics []byte) float64 {
		return 1e6 * (total(metrics, "go_cpu_classes_total_cpu_seconds_total") - total(metrics, "go_cpu_classes_idle_cpu_seconds_total"))
	}},
	{"allocated_bytes", "allocated", func(n float64) string { return text.Bytes(int64(n)) }, func(metrics []byte) float64 {
		return total(metrics, "go_memstats_alloc_bytes_total")
	}},
	{"allocations", "allocations", func(n float64) string { return text.Count(int64(n)) }, func(metrics []byte) float64 {
		return total(metrics, "go_memstats_mallocs_total")
	}},
}

func formatMicroseconds(n float64) string { return text.Duration(1000 * n) }

// unmodified is the number of the server without Regometer. The other server
// has the number 0.
const unmodified = 1

var serverNames = [...]string{"OPA with Regometer", "unmodified OPA"}

// A cost is the cost of a decision on each server.
type cost [len(serverNames)]float64

// A load sends the same requests to all servers in turns.
type load struct {
	servers  []*opaserver.Server
	workload workload
	requests int // to each server
}

// run keeps each server busy for about the duration, and returns the costs. They
// leave out the first part of it, which warms the servers up, and include a
// scrape of /metrics, which costs as much as a few decisions.
func (l *load) run(ctx context.Context, each time.Duration) ([]cost, error) {
	all := each * time.Duration(len(l.servers))
	if err := l.send(ctx, all/8); err != nil {
		return nil, err
	}
	before, err := l.used(ctx)
	if err != nil {
		return nil, err
	}
	warm := l.requests
	if err := l.send(ctx, all-all/8); err != nil {
		return nil, err
	}
	after, err := l.used(ctx)
	if err != nil {
		return nil, err
	}
	costs := make([]cost, len(costKinds))
	for kind := range costs {
		for i := range l.servers {
			costs[kind][i] = (after[i][kind] - before[i][kind]) / float64(l.requests-warm)
		}
	}
	return costs, nil
}

// used returns the costs of each server since its start, by kind.
func (l *load) used(ctx context.Context) (used [][]float64, err error) {
	for i, s := range l.servers {
		metrics, err := s.Get(ctx, "/metrics")
		if err != nil {
			return nil, err
		}
		used = append(used, nil)
		for _, kind := range costKinds {
			n := kind.used(metrics)
			if n <= 0 {
				return nil, fmt.Errorf("/metrics of the %s lacks the metrics for %s", serverNames[i], kind.name)
			}
			used[i] = append(used[i], n)
		}
	}
	return used, nil
}

// send sends blocks of the workload for about the duration, at least one.
func (l *load) send(ctx context.Context, duration time.Duration) error {
	for start := time.Now(); ; {
		if err := l.sendBlock(ctx); err != nil || time.Since(start) >= duration {
			return err
		}
	}
}

// sendBlock sends a block of the workload to each server. The servers take
// turns at being first.
func (l *load) sendBlock(ctx context.Context) error {
	block := l.workload.block()
	first := l.requests / len(block)
	for turn := range l.servers {
		i := (first + turn) % len(l.servers)
		for _, q := range block {
			status, answer, err := l.servers[i].Do(ctx, http.MethodPost, q.path, q.body)
			if err != nil {
				return err
			}
			if status != q.status {
				return fmt.Errorf("the %s answered POST %s %s with HTTP status %d instead of %d: %.300s",
					serverNames[i], q.path, q.body, status, q.status, answer)
			}
		}
	}
	l.requests += len(block)
	return nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/regometer/regometer/internal/app/opaserver"
)

// load sends the same requests to all servers by turns.
type load struct {
	servers  []*opaserver.Server
	workload workload
	requests int            // to each server
	sent     map[string]int // the same by outcome
}

// rounds is how many are measured. It is odd, so that one is the median.
const rounds = 7

// run keeps each server busy for about that long. It returns the costs of each
// round after the first, which warms the servers up. A round includes a scrape
// of /metrics, which costs as much as a few decisions.
func (l *load) run(ctx context.Context, each time.Duration) (all [][]cost, err error) {
	var before [][]float64
	for i := range 1 + rounds {
		start, requests := time.Now(), l.requests
		for l.requests == requests || time.Since(start) < each*time.Duration(len(l.servers))/(1+rounds) {
			if err := l.sendBlock(ctx); err != nil {
				return nil, err
			}
		}
		after, err := usedBy(ctx, l.servers)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, costsOf(before, after, l.requests-requests))
		}
		before = after
	}
	return all, nil
}

// costsOf returns what each of n decisions cost the servers.
func costsOf(before, after [][]float64, n int) (list []cost) {
	for i, kind := range costs {
		c := cost{Name: kind.name, DropIn: (after[0][i] - before[0][i]) / float64(n)}
		if len(after) > unmodified {
			c.Unmodified = (after[unmodified][i] - before[unmodified][i]) / float64(n)
		}
		list = append(list, c)
	}
	return list
}

// sendBlock sends a block of the workload to each server. They take turns at
// being first.
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
	for _, q := range block {
		l.requests++
		l.sent[q.outcome]++
	}
	return nil
}

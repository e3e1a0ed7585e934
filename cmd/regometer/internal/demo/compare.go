// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// The comparison takes at least minRounds rounds, and none of them keeps a
// server busy for longer than about maxRound. Before it, each server gets
// warmUpBlocks blocks of the workload, which count as decisions only.
const (
	minRounds    = 12
	maxRound     = 500 * time.Millisecond
	warmUpBlocks = 3
)

// round holds each side's usage per decision in one round.
type round struct {
	dropIn, unmodified usage
	decisions          int // of each side
}

// side is a server and what was sent to it.
type side struct {
	*server
	*tally
}

// loadBoth sends the same queries to both servers by turns, and takes down what
// they use up.
func (r *run) loadBoth(ctx context.Context, dropIn, unmodified *server) error {
	r.progress.printf("Sending queries for about %v to each, by turns", r.Duration)
	sides := []side{{dropIn, r.dropIn}, {unmodified, newTally()}}
	start := time.Now()
	warmUp := r.workload.blocks(warmUpBlocks)
	for _, side := range sides {
		if err := side.send(ctx, warmUp, side.tally); err != nil {
			return err
		}
	}
	blockTime := max(1, time.Since(start)/time.Duration(len(sides)*warmUpBlocks))
	blocks := max(1, int(min(r.Duration/minRounds, maxRound)/blockTime))

	for len(r.rounds) < minRounds || time.Since(start) < time.Duration(len(sides))*r.Duration {
		if err := r.round(ctx, sides, blocks); err != nil {
			return err
		}
	}
	return sides[1].unexpected(sideUnmodified)
}

// round sends blocks to both sides, which take turns after each block. What it
// costs to ask for the usage is measured and taken off.
func (r *run) round(ctx context.Context, sides []side, blocks int) error {
	first, err := usages(ctx, sides)
	if err != nil {
		return err
	}
	before, err := usages(ctx, sides)
	if err != nil {
		return err
	}
	decisions := 0
	for i := range blocks {
		requests := r.workload.blocks(1)
		for j := range sides {
			side := sides[(len(r.rounds)+i+j)%len(sides)]
			if err := side.send(ctx, requests, side.tally); err != nil {
				return err
			}
		}
		for _, q := range requests {
			if q.want != malformed {
				decisions++
			}
		}
	}
	after, err := usages(ctx, sides)
	if err != nil {
		return err
	}
	cost := func(i int) usage {
		asking := before[i].minus(first[i])
		return after[i].minus(before[i]).minus(asking).per(decisions)
	}
	r.rounds = append(r.rounds, round{cost(0), cost(1), decisions})
	return nil
}

func usages(ctx context.Context, sides []side) ([]usage, error) {
	var all []usage
	for _, side := range sides {
		u, err := side.usage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// comparison sets the two sides' usage side by side.
type comparison struct {
	Rounds            int      `json:"rounds"`
	DecisionsPerRound int      `json:"decisions_per_round"`
	PerDecision       []figure `json:"per_decision"`
}

// figure is one kind of usage per decision: medians over the rounds, and how
// the rounds' own ratios vary.
type figure struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Unmodified number `json:"unmodified"`
	DropIn     number `json:"drop_in"`
	Ratio      number `json:"ratio"` // drop-in to unmodified, of the medians
	RatioMin   number `json:"ratio_min"`
	RatioMax   number `json:"ratio_max"`
}

// number is a float64 whose NaN, for what the server does not export, is null
// in JSON.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// compare returns nil if no round was completed.
func compare(rounds []round) *comparison {
	if len(rounds) == 0 {
		return nil
	}
	c := &comparison{Rounds: len(rounds), DecisionsPerRound: rounds[0].decisions}
	for _, kind := range []struct {
		name, unit string
		of         func(usage) float64
	}{
		{"handler_time", "s", func(u usage) float64 { return u.handlerSeconds }},
		{"busy_time", "s", func(u usage) float64 { return u.busySeconds }},
		{"allocated_bytes", "B", func(u usage) float64 { return u.bytes }},
		{"allocations", "", func(u usage) float64 { return u.allocations }},
	} {
		var theirs, ours, ratios []float64
		for _, r := range rounds {
			theirs = append(theirs, kind.of(r.unmodified))
			ours = append(ours, kind.of(r.dropIn))
			ratios = append(ratios, kind.of(r.dropIn)/kind.of(r.unmodified))
		}
		c.PerDecision = append(c.PerDecision, figure{
			Name: kind.name, Unit: kind.unit,
			Unmodified: number(median(theirs)), DropIn: number(median(ours)),
			Ratio:    number(median(ours) / median(theirs)),
			RatioMin: number(slices.Min(ratios)), RatioMax: number(slices.Max(ratios)),
		})
	}
	return c
}

// median returns NaN if one of the values is.
func median(values []float64) float64 {
	if slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

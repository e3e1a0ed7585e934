// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// do encodes an operation for reader.
func do(op operation, operands ...[]byte) []byte {
	return append([]byte{byte(op)}, slices.Concat(operands...)...)
}

// name encodes the i-th of names, piece the i-th of pieces, and value any value.
func name(i int) []byte    { return []byte{byte(i)} }
func piece(i int) []byte   { return []byte{128, byte(i)} }
func count(n int) []byte   { return []byte{byte(n)} }
func value(v int64) []byte { return binary.BigEndian.AppendUint64([]byte{3}, uint64(v)) }

// seeds returns the programs that the fuzzer starts from.
func seeds() (all [][]byte) {
	add := func(program ...[]byte) { all = append(all, slices.Concat(program...)) }
	compare := do(opCompare)
	add()
	// Each value, alone and with others, looked at after each update.
	var together [][]byte
	for i, v := range values {
		add(do(opHistogramUpdate, name(0), value(v)), do(opCounterAdd, name(0), value(v)), compare,
			do(opHistogramBurst, name(0), count(9), value(v), value(0)), compare, do(opStatistics, count(3), value(v), value(0)))
		together = append(together, do(opHistogramUpdate, name(1), value(v)), do(opCounterAdd, name(i), value(v)), compare)
	}
	add(together...)
	// Each name as each kind.
	var kinds [][]byte
	for i := range names {
		kinds = append(kinds, do(opTimerStart, name(i)), do(opSleep, value(int64(i))), do(opTimerStop, name(i)),
			do(opCounterIncr, name(i)), do(opHistogramValue, name(i)), compare)
	}
	add(kinds...)
	// Each piece of output as the name of a full reservoir, which most updates
	// change in nothing but the count.
	for i := range pieces {
		add(slices.Repeat(do(opHistogramBurst, piece(i), count(255), value(1), value(1)), 16),
			slices.Repeat(slices.Concat(compare, do(opHistogramUpdate, piece(i), value(5))), 6))
	}
	// Timers: restarted, stopped twice, over a Clear, for a very long time.
	var timers [][]byte
	start, stop := do(opTimerStart, name(2)), do(opTimerStop, name(2))
	for _, sleep := range []int64{0, 1, 1e9, 3600e9, 1e18, 5e18} {
		slept := do(opSleep, value(sleep))
		timers = append(timers, start, slept, compare, start, slept, stop, stop, do(opTimerValue, name(2)))
	}
	add(append(timers, start, do(opClear), stop, do(opSameHandle, count(0)), stop, compare)...)
	// Reservoirs: nearly full, full, over, and after a Clear.
	for _, steps := range [][2]int64{{1, 1}, {-500, 1}, {1e9, -7919}, {0, 0}, {1 << 61, 1}, {-1 << 40, 1 << 33}} {
		first, step := value(steps[0]), value(steps[1])
		var fills [][]byte
		for _, over := range []int{-64, 0, 64} {
			fills = append(fills, do(opHistogramFill, name(3), count(over), first, step), compare, compare)
		}
		add(append(fills, do(opHistogramBurst, name(3), count(200), first, step), compare, do(opStatistics, count(255), first, step),
			do(opClear), do(opSameHandle, count(0)), do(opHistogramUpdate, name(3), first), compare)...)
	}
	// Long programs.
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		p := make([]byte, 2000)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		all = append(all, p)
	}
	return all
}

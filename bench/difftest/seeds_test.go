// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// program is written by its methods; reader decodes it.
type program []byte

func (p *program) op(op operation, operands ...[]byte) {
	*p = append(*p, byte(op))
	for _, o := range operands {
		*p = append(*p, o...)
	}
}

// nameOperand encodes the i-th of names.
func nameOperand(i int) []byte { return []byte{byte(i)} }

// pieceOperand encodes the i-th of pieces.
func pieceOperand(i int) []byte { return []byte{128, byte(i)} }

// spelledOperand encodes a name of up to 63 bytes.
func spelledOperand(name string) []byte { return append([]byte{byte(192 + len(name))}, name...) }

// valueOperand encodes any value.
func valueOperand(v int64) []byte { return binary.BigEndian.AppendUint64([]byte{3}, uint64(v)) }

func count(n byte) []byte { return []byte{n} }

// seeds returns the programs that the fuzzer starts from.
func seeds() [][]byte {
	var all [][]byte
	add := func(write func(p *program)) {
		var p program
		write(&p)
		all = append(all, p)
	}

	add(func(*program) {})
	// Each value, alone and with the others, looked at after each update.
	for _, v := range values {
		add(func(p *program) {
			p.op(opHistogramUpdate, nameOperand(0), valueOperand(v))
			p.op(opCounterAdd, nameOperand(0), valueOperand(v))
			p.op(opCompare)
			p.op(opHistogramBurst, nameOperand(0), count(9), valueOperand(v), valueOperand(0))
			p.op(opCompare)
			p.op(opStatistics, count(3), valueOperand(v), valueOperand(0))
		})
	}
	add(func(p *program) {
		for i, v := range values {
			p.op(opHistogramUpdate, nameOperand(1), valueOperand(v))
			p.op(opCounterAdd, nameOperand(i), valueOperand(v))
			p.op(opCompare)
		}
	})
	// Each name as each kind.
	add(func(p *program) {
		for i := range names {
			p.op(opTimerStart, nameOperand(i))
			p.op(opSleep, valueOperand(int64(i)))
			p.op(opTimerStop, nameOperand(i))
			p.op(opCounterIncr, nameOperand(i))
			p.op(opHistogramValue, nameOperand(i))
			p.op(opCompare)
		}
	})
	add(func(p *program) {
		for b := range 256 {
			p.op(opCounterIncr, spelledOperand("x"+string([]byte{byte(b)})))
			if b%64 == 63 {
				p.op(opCompare)
				p.op(opClear)
			}
		}
	})
	// Each piece of output as the name of a full reservoir, which most updates
	// change in nothing but the count.
	for i := range pieces {
		add(func(p *program) {
			for range 16 {
				p.op(opHistogramBurst, pieceOperand(i), count(255), valueOperand(1), valueOperand(1))
			}
			for range 6 {
				p.op(opCompare)
				p.op(opHistogramUpdate, pieceOperand(i), valueOperand(5))
			}
		})
	}
	// Timers: restarted, stopped twice, over a Clear, for a very long time.
	add(func(p *program) {
		for _, sleep := range []int64{0, 1, 1e9, 3600e9, 1e18, 5e18} {
			p.op(opTimerStart, nameOperand(2))
			p.op(opSleep, valueOperand(sleep))
			p.op(opCompare)
			p.op(opTimerStart, nameOperand(2))
			p.op(opSleep, valueOperand(sleep))
			p.op(opTimerStop, nameOperand(2))
			p.op(opTimerStop, nameOperand(2))
			p.op(opTimerValue, nameOperand(2))
		}
		p.op(opTimerStart, nameOperand(2))
		p.op(opClear)
		p.op(opTimerStop, nameOperand(2))
		p.op(opSameHandle, count(0))
		p.op(opTimerStop, nameOperand(2))
		p.op(opCompare)
	})
	// Reservoirs: nearly full, full, over.
	for _, steps := range [][2]int64{{1, 1}, {-500, 1}, {1e9, -7919}, {0, 0}, {1 << 61, 1}, {-1 << 40, 1 << 33}} {
		add(func(p *program) {
			first, step := valueOperand(steps[0]), valueOperand(steps[1])
			for _, over := range []int8{-64, 0, 64} {
				p.op(opHistogramFill, nameOperand(3), count(byte(over)), first, step)
				p.op(opCompare)
				p.op(opCompare)
			}
			p.op(opHistogramBurst, nameOperand(3), count(200), first, step)
			p.op(opCompare)
			p.op(opStatistics, count(255), first, step)
			p.op(opClear)
			p.op(opSameHandle, count(0))
			p.op(opHistogramUpdate, nameOperand(3), first)
			p.op(opCompare)
		})
	}
	// Long programs.
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		p := make(program, 2000)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		all = append(all, p)
	}
	return slices.Clip(all)
}

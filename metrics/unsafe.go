// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego && (386 || amd64 || arm64 || loong64 || ppc64 || ppc64le || s390x)

package metrics

import (
	"sync"
	"unsafe"
)

// This file has the package's only unsafe code. unsafe_purego.go replaces it
// with the build tag purego, with compilers other than gc, and on processors
// that cannot read a word at any address.

// sameName reports whether a == b. For most names it saves the call that
// comparing strings takes. Equal constants have the same address, because the
// linker keeps one copy of each. Names of 8 to 16 bytes are compared as two
// words, which overlap.
func sameName(a, b string) bool {
	n := len(a)
	if n != len(b) {
		return false
	}
	p, q := unsafe.Pointer(unsafe.StringData(a)), unsafe.Pointer(unsafe.StringData(b))
	if p == q {
		return true
	}
	if 8 <= n && n <= 16 {
		return *(*uint64)(p) == *(*uint64)(q) && *(*uint64)(unsafe.Add(p, n-8)) == *(*uint64)(unsafe.Add(q, n-8))
	}
	return a == b
}

// byAddress finds the descriptor of a name that OPA records by the address of
// the constant, without hashing the name. init fills it, so it is read without
// a lock.
var byAddress addressTable

// addressTable is a hash table without collisions. It hashes by multiplication.
type addressTable struct {
	multiplier uint64
	slots      [1 << addressBits]*descriptor
}

const (
	addressBits = 10
	// maxTries limits the multipliers that fill tries. About one in ten works.
	maxTries = 1000
)

func (t *addressTable) slot(kind Kind, name string) **descriptor {
	address := uint64(uintptr(unsafe.Pointer(unsafe.StringData(name))))
	return &t.slots[(address+uint64(kind))*t.multiplier>>(64-addressBits)]
}

// fill chooses a multiplier that gives each descriptor its own slot. If it
// finds none, the table stays empty, and identify hashes the names instead.
func (t *addressTable) fill(descriptors []*descriptor) {
	for i := range uint64(maxTries) {
		t.multiplier = 1 + i*0x9e3779b97f4a7c16
		clash := false
		for _, d := range descriptors {
			slot := t.slot(d.kind, d.name)
			clash = clash || *slot != nil
			*slot = d
		}
		if !clash {
			return
		}
		clear(t.slots[:])
	}
}

func setWellKnown(descriptors []*descriptor) { byAddress.fill(descriptors) }

// wellKnown returns the descriptor of a metric that OPA records. It returns nil
// if name is not OPA's own constant.
func wellKnown(kind Kind, name string) *descriptor {
	d := *byAddress.slot(kind, name)
	if d != nil && d.kind == kind && len(d.name) == len(name) &&
		unsafe.StringData(d.name) == unsafe.StringData(name) {
		return d
	}
	return nil
}

// boxes turns numbers into values of type any. In plain Go, each number takes
// an allocation. Here, up to 31 numbers share a block.
type boxes struct{ *block }

// block holds boxed numbers, each written once. It takes 256 bytes. A single
// value in use keeps the whole block alive.
type block struct {
	numbers [31]uint64
	used    int
}

// blocks holds blocks that have room.
var blocks = sync.Pool{New: func() any { return new(block) }}

func newBoxes() boxes { return boxes{blocks.Get().(*block)} }

// release lets others use the room that is left.
func (b *boxes) release() {
	if b.used < len(b.numbers) {
		blocks.Put(b.block)
	}
}

// emptyInterface is gc's layout of an any: the type, and a pointer to the
// value. gc never writes a number again once it is boxed.
type emptyInterface struct{ typ, data unsafe.Pointer }

// box stores the 64 bits of a number and returns their address.
func (b *boxes) box(bits uint64) unsafe.Pointer {
	// The highest percentiles of few values are the same number.
	if b.used > 0 && b.numbers[b.used-1] == bits {
		return unsafe.Pointer(&b.numbers[b.used-1])
	}
	if b.used == len(b.numbers) {
		b.block = new(block)
	}
	p := &b.numbers[b.used]
	b.used++
	*p = bits
	return unsafe.Pointer(p)
}

func (b *boxes) int64(v int64) any {
	if uint64(v) < 256 {
		return v // Go boxes these without an allocation
	}
	var a any = int64(0)
	(*emptyInterface)(unsafe.Pointer(&a)).data = b.box(uint64(v))
	return a
}

func (b *boxes) uint64(v uint64) any {
	if v < 256 {
		return v
	}
	var a any = uint64(0)
	(*emptyInterface)(unsafe.Pointer(&a)).data = b.box(v)
	return a
}

func (b *boxes) float64(v float64) any {
	var a any = float64(0)
	(*emptyInterface)(unsafe.Pointer(&a)).data = b.box(*(*uint64)(unsafe.Pointer(&v)))
	return a
}

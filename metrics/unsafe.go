// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package metrics

import "unsafe"

// The package's only unsafe code. With the build tag purego, the file
// unsafe_purego.go takes its place.

// sameName reports whether a == b. It takes equal constants for equal by
// their address, without the call that comparing their bytes would be: the
// linker keeps one copy of each.
func sameName(a, b string) bool {
	n := len(a)
	if n != len(b) {
		return false
	}
	if unsafe.StringData(a) == unsafe.StringData(b) {
		return true
	}
	// Names that are not equal mostly differ here.
	return n == 0 || a[n-1] == b[n-1] && a[n/2] == b[n/2] && a == b
}

// boxes makes values of type any out of numbers, which takes an allocation
// each in plain Go, from one allocation for all.
type boxes struct{ free []uint64 }

// newBoxes returns boxes that hold n numbers.
func newBoxes(n int) boxes { return boxes{make([]uint64, n)} }

// emptyInterface is how an any is laid out: the type, and a pointer to the
// value, which for a number is never written again.
type emptyInterface struct{ typ, data unsafe.Pointer }

// box stores the 64 bits of a number and returns where.
func (b *boxes) box(bits uint64) unsafe.Pointer {
	if len(b.free) == 0 { // more metrics than counted a moment ago
		b.free = make([]uint64, 8)
	}
	p := &b.free[0]
	b.free = b.free[1:]
	*p = bits
	return unsafe.Pointer(p)
}

func (b *boxes) int64(v int64) any {
	var a any = int64(0)
	(*emptyInterface)(unsafe.Pointer(&a)).data = b.box(uint64(v))
	return a
}

func (b *boxes) uint64(v uint64) any {
	var a any = uint64(0)
	(*emptyInterface)(unsafe.Pointer(&a)).data = b.box(v)
	return a
}

func (b *boxes) float64(v float64) any {
	var a any = float64(0)
	(*emptyInterface)(unsafe.Pointer(&a)).data = b.box(*(*uint64)(unsafe.Pointer(&v)))
	return a
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

const (
	// shortValue is about how long an object or array is, at most, that
	// readMembers passes over.
	shortValue = 512 //nolint:unused // by assembly
	// longMetrics is about how long the metrics are, at most, that it reads: so
	// they are fewer than mostMetrics.
	longMetrics = 16 << 10 //nolint:unused // by assembly
	// steady is after how many values of one length a key's next one is taken
	// for as long.
	steady = 8 //nolint:unused // by assembly
)

// readMembers reads members of p's object from index i of a text of n bytes on,
// while they are of the usual kind: keys that have followed the one before;
// strings of ASCII, short objects and arrays, true, false, integers, metrics of
// which each is an integer; no white space except spaces behind a comma or a
// colon. If that was all of the object, whole is true, and next is the index
// behind it. Else next is where a member of another kind begins, or white space
// before it: the caller skips that. before is the key of the member before.
//
// It does what parser.parse does, for 64 bytes at a time and without branches
// for lengths, which a processor cannot foresee. It is for processors that
// hasWide is true of.
//
//go:noescape
func readMembers(p *parser, text *byte, i, n int, at *key) (next int, before *key, whole bool)

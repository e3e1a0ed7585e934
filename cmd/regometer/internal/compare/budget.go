// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "slices"

// budget shares out the error that a comparison may make. Half of it goes to
// all tests equally, and half in proportion to the durations or decisions of
// their rows, of which more tell more. So a busy path among hundreds of idle ones
// is tested nearly as if it were alone.
type budget struct {
	error float64
	count float64 // of the rows of all tests
	tests []test
	found int // the number of tests that find a change, see discover
}

// test is the test of one change of a row.
type test struct {
	count float64 // of both sides of the row
	p     float64 // the probability of such a difference without a change
}

// add adds a test of a row of so many durations or decisions.
func (b *budget) add(count, p float64) {
	b.tests = append(b.tests, test{count, p})
	b.count += count
}

// share returns the share of the error for a test in a row of so many
// durations or decisions. The shares of all tests add up to 1.
func (b *budget) share(count float64) float64 {
	return (1/float64(len(b.tests)) + count/b.count) / 2
}

// discover sets found. It controls the false discovery rate by the procedure of
// Benjamini and Hochberg (1995), with the weights of Genovese, Roeder and
// Wasserman (2006).
func (b *budget) discover() {
	var needed []float64 // the error with which a test would find a change alone
	for _, t := range b.tests {
		if t.p <= b.error {
			needed = append(needed, t.p/b.share(t.count))
		}
	}
	slices.Sort(needed)
	for i, e := range needed {
		if e <= b.error*float64(i+1) {
			b.found = i + 1
		}
	}
}

// alpha returns the error of an interval in a row of so many durations or
// decisions. A row is slower, faster or changed if an interval of this error does
// not contain 0. The intervals of these rows are wrong as rarely as the rows are
// (Benjamini and Yekutieli 2005).
func (b *budget) alpha(count float64) float64 {
	return min(b.error, b.error*b.share(count)*float64(max(b.found, 1)))
}

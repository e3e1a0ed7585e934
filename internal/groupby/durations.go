// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"math"
	"slices"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/grid"
)

// Layout is the layout of all histograms. It has room for the buckets of all
// positive int64s. So no histogram reduces its schema, and the error of a
// quantile does not depend on the range of the values.
var Layout = exphist.Layout{Unit: exphist.Nanosecond, Schema: 5, MaxBuckets: 64 << 5}

// bounds are the bounds of the buckets of Layout. In this package, the number
// of a bucket is its position in bounds.
var bounds = grid.New(1e9, uint(Layout.Schema))

// durations collects positive values for an [exphist.Snapshot]. It is for one
// goroutine, and takes a fraction of the time and memory of an
// [exphist.Histogram]. The zero value is empty. An assignment does not copy the
// values.
type durations struct {
	// few has the values, as long as they take less memory than wide would.
	// Otherwise wide has them.
	few  []uint32
	wide *wide
}

// wide has many values, or values above 32 bits.
type wide struct {
	sum         Sum
	least, most int64 // MaxInt64 and 0 if there is no value

	// The count of bucket first+i has digits to the base 256. Digit p is
	// digits[i+p·buckets]. So the memory depends on the range of the values and
	// on the largest count.
	digits         []byte
	first, buckets int32
}

const (
	wideSize = 72 // the bytes of a wide without its digits
	chunk    = 8  // the range of the buckets grows by this many
)

// record records n > 0. It allocates memory for the first hundreds of values,
// and later only when their range grows.
func (d *durations) record(n int64) {
	w := d.wide
	if w == nil || n < w.least || n > w.most {
		if n > math.MaxUint32 || len(d.few) == cap(d.few) {
			w = d.makeRoom(n)
		}
		if w == nil {
			d.few = append(d.few, uint32(n))
			return
		}
	}
	w.sum = w.sum.Plus(Sum{Lo: uint64(n)})
	i, digits := bounds.Position(n)-int(w.first), w.digits
	digit := digits[i] + 1
	digits[i] = digit
	if digit == 0 {
		w.add(i+int(w.buckets), 1)
	}
}

// makeRoom makes room for n in few or, if that takes less memory, in wide. It
// returns wide.
func (d *durations) makeRoom(n int64) *wide {
	if d.wide == nil && n <= math.MaxUint32 {
		want, buckets := len(d.few)+len(d.few)/2+2, 0
		if len(d.few) > 0 {
			buckets = bounds.Position(int64(slices.Max(d.few))) - bounds.Position(int64(slices.Min(d.few))) + chunk
		}
		if 4*want <= wideSize+buckets {
			d.few = append(slices.Grow([]uint32(nil), want), d.few...)
			return nil
		}
	}
	d.widen()
	d.wide.include(n, n)
	return d.wide
}

// widen moves the values from few to wide.
func (d *durations) widen() {
	if d.wide != nil {
		return
	}
	few := d.few
	d.few, d.wide = nil, &wide{least: math.MaxInt64}
	if len(few) > 0 {
		d.wide.include(int64(slices.Min(few)), int64(slices.Max(few)))
	}
	for _, n := range few {
		d.record(int64(n))
	}
}

// include extends the range of the values to least and most.
func (w *wide) include(least, most int64) {
	w.least, w.most = min(least, w.least), max(most, w.most)
	low, high := int32(bounds.Position(w.least)), int32(bounds.Position(w.most))
	if low >= w.first && high < w.first+w.buckets {
		return
	}
	old, planes := *w, len(w.digits)/max(int(w.buckets), 1)
	w.first = low &^ (chunk - 1)
	w.buckets = high | (chunk - 1) + 1 - w.first
	w.digits = make([]byte, int(w.buckets)*max(planes, 1))
	for p := range planes {
		copy(w.digits[p*int(w.buckets)+int(old.first-w.first):], old.digits[p*int(old.buckets):][:old.buckets])
	}
}

// addDigits adds the counts of o, whose range w must include.
func (w *wide) addDigits(o *wide) {
	for from, to := 0, int(o.first-w.first); from < len(o.digits); from, to = from+int(o.buckets), to+int(w.buckets) {
		for i, digit := range o.digits[from:][:o.buckets] {
			if at := to + i; at < len(w.digits) && digit <= 255-w.digits[at] {
				w.digits[at] += digit
			} else {
				w.add(at, uint64(digit))
			}
		}
	}
}

// add adds n·256^p to the count of which digits[at] is digit p.
func (w *wide) add(at int, n uint64) {
	for ; n > 0; at += int(w.buckets) {
		for at >= len(w.digits) {
			w.digits = slices.Concat(w.digits, make([]byte, w.buckets))
		}
		n += uint64(w.digits[at])
		w.digits[at] = byte(n)
		n >>= 8
	}
}

// read copies d into c, and uses the memory of c again.
func (d *durations) read(c *exphist.Content) {
	w := d.wide
	if w == nil {
		w = new(wide)
		if len(d.few) > 0 {
			w.least, w.most = int64(slices.Min(d.few)), int64(slices.Max(d.few))
		}
	}
	*c = exphist.Content{Layout: Layout, Least: w.least, Most: w.most, SumHi: w.sum.Hi, SumLo: w.sum.Lo, Counts: c.Counts[:0]}
	if w.most == 0 {
		return
	}
	low, high := bounds.Position(w.least), bounds.Position(w.most)
	c.First = low + bounds.Base + 1
	c.Counts = slices.Grow(c.Counts, high-low+1)[:high-low+1]
	clear(c.Counts)
	for _, n := range d.few {
		c.SumLo += uint64(n)
		c.Counts[bounds.Position(int64(n))-low]++
	}
	for shift, from := 0, low-int(w.first); from < len(w.digits); shift, from = shift+8, from+int(w.buckets) {
		for i, digit := range w.digits[from:][:len(c.Counts)] {
			c.Counts[i] += uint64(digit) << shift
		}
	}
}

// restore adds the values of s to d, which must be empty. The values must be
// positive, and s must have the schema of Layout.
func (d *durations) restore(s *exphist.Snapshot) {
	if s.Count() <= 2 && s.Max() <= math.MaxUint32 { // there are no values between them
		d.few = []uint32{uint32(s.Min()), uint32(s.Max())}[:s.Count()]
		return
	}
	d.widen()
	d.wide.include(s.Min(), s.Max())
	d.wide.sum.Hi, d.wide.sum.Lo = s.Sum()
	first, counts := s.Buckets()
	for i, n := range counts {
		d.wide.add(first+i-bounds.Base-1-int(d.wide.first), n)
	}
}

// merge adds the values of o, and does not change o.
func (d *durations) merge(o *durations) {
	for _, n := range o.few {
		d.record(int64(n))
	}
	if o.wide != nil {
		d.widen()
		d.wide.include(o.wide.least, o.wide.most)
		d.wide.sum = d.wide.sum.Plus(o.wide.sum)
		d.wide.addDigits(o.wide)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"slices"
	"sync"

	"github.com/regometer/regometer/internal/grid"
)

// Unit says how a recorded integer relates to the exported unit.
type Unit uint8

// The units. The bounds of the buckets are powers of two of the exported unit.
const (
	Integer     Unit = iota // exported as recorded
	Nanosecond              // recorded in nanoseconds, exported in seconds
	Microsecond             // recorded in microseconds, exported in seconds
	Millisecond             // recorded in milliseconds, exported in seconds

	units = iota
)

// String returns the unit's name.
func (u Unit) String() string {
	if u >= units {
		return fmt.Sprintf("Unit(%d)", uint8(u))
	}
	return [units]string{"integer", "nanosecond", "microsecond", "millisecond"}[u]
}

// perExported returns the number of recorded units in an exported unit.
func (u Unit) perExported() uint64 {
	return [units]uint64{1, 1e9, 1e6, 1e3}[u]
}

// The ranges of a layout's fields.
const (
	minSchema  = -4 // a bucket spans 16 powers of two
	maxSchema  = 8  // 256 buckets for each power of two
	minBuckets = 5  // of the coarsest schema, which hold all positive integers of any unit
	maxBounds  = 100
)

// Layout is the shape of a histogram's buckets. A layout whose Schema and
// MaxBuckets are 0 has the default ones: schema 5, and at most 640 buckets. The
// relative error of a quantile is then at most 1.1 %, as long as the values span
// no more than 20 powers of two.
type Layout struct {
	Unit       Unit
	Schema     int // the resolution, 2^Schema buckets for each power of two; from -4 to 8
	MaxBuckets int // limits the contiguous buckets: a histogram that needs more reduces its schema; at least 5

	// Bounds are explicit bounds, in the recorded unit: at most 100 ascending
	// positive integers. Beside its buckets, a histogram counts exactly how many
	// values are at most each bound. Prometheus calls these counts classic
	// buckets, and puts the bound into the label le. Do not change the slice of
	// a snapshot's layout.
	Bounds []int64
}

// complete returns l with the defaults filled in.
func (l Layout) complete() Layout {
	if l.Schema == 0 && l.MaxBuckets == 0 {
		l.Schema, l.MaxBuckets = 5, 640
	}
	return l
}

// Validate returns an error if a field is out of range. The error names the
// field.
func (l Layout) Validate() error {
	l = l.complete()
	switch {
	case l.Unit >= units:
		return fmt.Errorf("exphist: layout: Unit is %d: it must be Integer, Nanosecond, Microsecond or Millisecond", l.Unit)
	case l.Schema < minSchema || l.Schema > maxSchema:
		return fmt.Errorf("exphist: layout: Schema is %d: it must be from %d to %d", l.Schema, minSchema, maxSchema)
	case l.MaxBuckets < minBuckets:
		return fmt.Errorf("exphist: layout: MaxBuckets is %d: it must be at least %d", l.MaxBuckets, minBuckets)
	case len(l.Bounds) > maxBounds:
		return fmt.Errorf("exphist: layout: there are %d Bounds: at most %d are allowed", len(l.Bounds), maxBounds)
	}
	for i, n := range l.Bounds {
		switch {
		case n <= 0:
			return fmt.Errorf("exphist: layout: Bounds[%d] is %d: a bound must be at least 1", i, n)
		case i > 0 && n <= l.Bounds[i-1]:
			return fmt.Errorf("exphist: layout: Bounds[%d] is %d, after %d: bounds must ascend", i, n, l.Bounds[i-1])
		}
	}
	return nil
}

// mergeable returns an error if histograms of l and o have nothing in common.
func (l Layout) mergeable(o Layout) error {
	if l.Unit != o.Unit {
		return fmt.Errorf("exphist: merge: one histogram is in %ss and the other in %ss: record both in the same unit", l.Unit, o.Unit)
	}
	if !slices.Equal(l.Bounds, o.Bounds) {
		return fmt.Errorf("exphist: merge: one histogram has the bounds %v and the other %v: use equal bounds, or see Snapshot.Rebound",
			l.Bounds, o.Bounds)
	}
	return nil
}

// parent returns the bucket that contains bucket i after the schema has been
// reduced by k.
func parent(i, k int) int { return (i-1)>>k + 1 }

// grids has the grid of each unit and schema. The first histogram that needs a
// grid computes it.
var grids [units][maxSchema + 1]struct {
	once sync.Once
	grid *grid.Grid
}

// gridOf returns the grid of a unit and a schema. For a negative schema it is
// the grid of schema 0, several of whose buckets make one of the schema.
func gridOf(u Unit, schema int) *grid.Grid {
	at := &grids[u][max(schema, 0)]
	at.once.Do(func() { at.grid = grid.New(u.perExported(), uint(max(schema, 0))) })
	return at.grid
}

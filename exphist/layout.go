// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
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
	MinSchema = -4 // a bucket spans 16 powers of two
	MaxSchema = 8  // 256 buckets for each power of two

	// MinBuckets is the smallest MaxBuckets. This many buckets of the coarsest
	// schema hold all positive integers of any unit.
	MinBuckets = 5
)

// Layout is the shape of a histogram's buckets.
type Layout struct {
	Unit       Unit
	Schema     int // the resolution, 2^Schema buckets for each power of two; from MinSchema to MaxSchema
	MaxBuckets int // limits the contiguous buckets: a histogram that needs more reduces its schema; at least MinBuckets

	// Bounds are explicit bounds. Counts by bounds and counts by buckets do not
	// depend on each other.
	Bounds *Bounds
}

// DefaultLayout returns the layout with schema 5, at most 640 buckets, and no
// explicit bounds. The relative error of a quantile is then at most 1.1 %, as
// long as the values span no more than 20 powers of two.
func DefaultLayout(u Unit) Layout { return Layout{Unit: u, Schema: 5, MaxBuckets: 640} }

// RelativeError returns the largest relative error of a quantile. It is
// (b−1)/(b+1), where b is the ratio of a bucket's bounds. It is 0.0108 for
// schema 5, and 0.33 for schema 0.
func (l Layout) RelativeError() float64 {
	return math.Tanh(math.Ldexp(math.Ln2/2, -l.Schema))
}

func (l Layout) check() error {
	switch {
	case l.Unit >= units:
		return fmt.Errorf("exphist: layout: Unit is %d: it must be Integer, Nanosecond, Microsecond or Millisecond", l.Unit)
	case l.Schema < MinSchema || l.Schema > MaxSchema:
		return fmt.Errorf("exphist: layout: Schema is %d: it must be from %d to %d", l.Schema, MinSchema, MaxSchema)
	case l.MaxBuckets < MinBuckets:
		return fmt.Errorf("exphist: layout: MaxBuckets is %d: it must be at least %d", l.MaxBuckets, MinBuckets)
	}
	return nil
}

// parent returns the bucket that contains bucket i after the schema has been
// reduced by k.
func parent(i, k int) int { return (i-1)>>k + 1 }

// grids has the grid of each unit and schema. The first histogram that needs a
// grid computes it.
var grids [units][MaxSchema + 1]struct {
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

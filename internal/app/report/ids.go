// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
)

// An idSample counts the occurrences of a sample of the decision ids. Only the
// id itself decides whether it is in the sample, so all files agree.
type idSample struct {
	shift  int // one in 2^shift ids is in the sample
	counts map[uint64]uint32
}

const idShift = 8 // the first shift of a sample

// maxIDs limits the ids of a sample. A test lowers it.
var maxIDs = 1 << 16

func (s *idSample) add(id []byte) {
	if len(id) == 0 {
		return
	}
	// The last bytes tell most ids apart. An id that is not in the sample costs
	// no more than this.
	tail := lastBytes(id) * 0x9e3779b97f4a7c15
	if s.counts == nil {
		s.shift, s.counts = idShift, map[uint64]uint32{}
	}
	if tail>>(64-s.shift) != 0 {
		return
	}
	h := fnv.New64a()
	h.Write(id)
	// The upper bits decide, and the lower bits tell ids apart.
	s.put(tail>>32<<32|h.Sum64()>>32, 1)
}

// lastBytes returns the last 8 bytes, or all of a shorter id, as a big-endian
// number.
func lastBytes(id []byte) (n uint64) {
	if len(id) >= 8 {
		return binary.BigEndian.Uint64(id[len(id)-8:])
	}
	for _, b := range id {
		n = n<<8 | uint64(b)
	}
	return n
}

func (s *idSample) put(key uint64, n uint32) {
	if key>>(64-s.shift) != 0 {
		return
	}
	s.counts[key] += n
	for len(s.counts) > maxIDs {
		s.thin(s.shift + 1)
	}
}

// thin keeps one in 2^shift ids.
func (s *idSample) thin(shift int) {
	s.shift = shift
	for key := range s.counts {
		if key>>(64-shift) != 0 {
			delete(s.counts, key)
		}
	}
}

// merge adds o. It fails if an id occurred 2^32 times or more.
func (s *idSample) merge(o *idSample) error {
	if o.counts == nil {
		return nil
	}
	if s.counts == nil {
		*s = *o
		return nil
	}
	if o.shift > s.shift {
		s.thin(o.shift)
	}
	for key, n := range o.counts {
		if n > math.MaxUint32-s.counts[key] {
			return errors.New("a decision id occurs too often in them")
		}
		s.put(key, n)
	}
	return nil
}

// totals returns the number of ids in the sample, and the number of those that
// had occurred before.
func (s *idSample) totals() (sampled, repeated int64) {
	for _, n := range s.counts {
		sampled += int64(n)
		repeated += int64(n) - 1
	}
	return sampled, repeated
}

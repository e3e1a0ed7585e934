// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"crypto/sha256"
	"sync"
)

type digest = [sha256.Size]byte

// remembered limits the bodies that are recognised if they come again.
const remembered = 4096

// digests remembers the last bodies that were counted. OPA sends a body again
// if it does not get the answer.
type digests struct {
	mu    sync.Mutex
	known map[digest]bool
	order [remembered]digest // a ring
	next  int
}

// add adds a body. It returns false if the body is known.
func (d *digests) add(x digest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[x] {
		return false
	}
	if d.known == nil {
		d.known = map[digest]bool{}
	}
	delete(d.known, d.order[d.next])
	d.known[x] = true
	d.order[d.next] = x
	d.next = (d.next + 1) % remembered
	return true
}

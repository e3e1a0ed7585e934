// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// counter is a [cell] used as a counter: one atomic addition.
type counter cell

func (c *counter) Incr()        { c.value.Add(1) }
func (c *counter) Add(n uint64) { c.value.Add(int64(n)) }
func (c *counter) Value() any   { return uint64(c.value.Load()) }

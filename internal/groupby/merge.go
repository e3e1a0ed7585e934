// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import "github.com/regometer/regometer/internal/stages"

// Merge adds the groups of o, which must have the same limits. The caller must
// not use o afterwards. Merge fails, and changes nothing, if the counts of both
// may exceed 64 bits.
func (g *Groups) Merge(o *Groups) error {
	sums := g.sums
	if err := sums.add(o.sums); err != nil {
		return err
	}
	g.sums = sums
	g.rename(o)
	for g.width < o.width {
		g.double()
	}
	for o.width < g.width {
		o.double()
	}
	g.overflow += o.overflow
	for _, x := range o.byKey {
		g.put(x)
	}
	for index := range o.begins {
		g.begins[index] = struct{}{}
	}
	g.fit()
	g.names.sweep(g.byKey)
	return nil
}

// put adds a group, whose metrics must be those of g.
func (g *Groups) put(x *group) {
	if own, ok := g.byKey[x.key]; ok {
		own.merge(x)
	} else if g.admits([]byte(x.key)) {
		g.keep(x)
	} else {
		g.displace(x)
	}
}

// rename replaces the metrics in o's cells with metrics of g. Names of o
// without room in g are displaced. They may displace names of g.
func (g *Groups) rename(o *Groups) {
	renamed := map[*stages.Metric]*stages.Metric{}
	rename := func(m **stages.Metric) {
		to, ok := renamed[*m]
		if !ok {
			to = g.names.metricOf((*m).Kind, (*m).Name, g.fit)
			renamed[*m] = to
		}
		*m = to
	}
	for _, x := range o.byKey {
		for i := range x.cells {
			c := &x.cells[i]
			for j := range c.stages {
				rename(&c.stages[j].metric)
			}
			for j := range c.counters {
				rename(&c.counters[j].metric)
			}
		}
	}
}

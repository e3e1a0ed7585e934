// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"slices"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/rollup"
)

// names holds the metrics of Groups, by number.
//
// A number stays with its name until Groups.Forget, because callers keep it.
// Callers get the number before a decision uses the name, but only decisions
// may decide which names have room. So a name that is not in the tables is
// pending until a decision uses it.
type names struct {
	table   stages.Table              // its families are the metrics of their names without room
	known   map[string]*stages.Metric // the metrics of the tables, by key
	isOther [stages.Kinds]*stages.Metric
	noRoom  [stages.Kinds]*stages.Metric // for names without room that are in no family

	metrics []*stages.Metric // by number
	numbers map[string]int32 // by key, unless the name has no room

	kept      [stages.Kinds]lowest // the names that have room and are not in the tables
	limit     int                  // limits the kept names of each kind
	displaced int                  // the number of names displaced since the last sweep
}

// The columns of metrics with names of their own.
const (
	pendingColumn = stages.OtherColumn - 1
	namedColumn   = stages.OtherColumn + 1
)

func newNames(limit int) names {
	table, err := stages.NewTable(stages.DefaultStages())
	if err != nil {
		panic(err) // the default table is valid
	}
	n := names{table: table, limit: limit, known: map[string]*stages.Metric{}, numbers: map[string]int32{}}
	for _, m := range table.Stages {
		m.Column = namedColumn
		n.known[stages.KeyOf(m.Kind, m.Name)] = m
	}
	for _, name := range stages.DefaultCounters() {
		n.known[stages.KeyOf(stages.Counter, name)] = stages.NewMetric(stages.Counter, name, namedColumn)
	}
	for _, k := range [...]stages.Kind{stages.Timer, stages.Counter} {
		n.isOther[k] = stages.NewMetric(k, rollup.Other, stages.OtherColumn)
		n.noRoom[k] = stages.NewMetric(k, rollup.Other, stages.OtherColumn)
		n.noRoom[k].Overflows = true
		n.known[stages.KeyOf(k, "")], n.known[stages.KeyOf(k, rollup.Other)] = n.isOther[k], n.isOther[k]
	}
	for _, family := range table.Families {
		family.Overflows = true
	}
	return n
}

// withoutRoom returns the metric for a name that has no room. It is the name's
// family, or a metric that is inside no stage.
func (n *names) withoutRoom(k stages.Kind, name string) *stages.Metric {
	if f := n.table.Family(name); f != nil && k == stages.Timer {
		return f
	}
	return n.noRoom[k]
}

// find returns the number of a key. It adds a pending metric if the key is new.
// The number is negative if the metric is neither a timer nor a counter.
func (n *names) find(key string) int32 {
	if number, ok := n.numbers[key]; ok {
		return number
	}
	k, name := stages.Split(key)
	if k == stages.Neither {
		return -1
	}
	m := n.known[key]
	if m == nil {
		m = n.withoutRoom(k, name)
		if len(name) <= stages.MaxName && n.kept[k].admits([]byte(name), n.limit) {
			ancestors := m.Ancestors
			m = stages.NewMetric(k, name, pendingColumn)
			m.Ancestors = ancestors
		}
	}
	return n.add(key, m)
}

// add gives a metric a number. It does not keep keys without room, of which
// there may be many.
func (n *names) add(key string, m *stages.Metric) int32 {
	number := int32(len(n.metrics))
	n.metrics = append(n.metrics, m)
	if !m.Overflows {
		n.numbers[key] = number
	}
	return number
}

// resolve returns the metric with a number, which a decision uses. So it
// decides whether a pending name has room. It calls fit if the name is kept.
func (n *names) resolve(number int32, fit func()) *stages.Metric {
	m := n.metrics[number]
	if m.Column != pendingColumn {
		return m
	}
	kept := &n.kept[m.Kind]
	if kept.admits([]byte(m.Name), n.limit) {
		m.Column = namedColumn
		kept.add(m.Name)
		fit()
	} else {
		n.metrics[number] = n.withoutRoom(m.Kind, m.Name)
	}
	return n.metrics[number]
}

// fitNames sets the limit of each kind, and displaces the names above it. The
// next sweep moves the values of displaced names to Other.
func (n *names) fitNames(limit int) {
	n.limit = limit
	for k := range n.kept {
		for len(n.kept[k]) > limit {
			key := stages.KeyOf(stages.Kind(k), n.kept[k].removeHighest())
			number := n.numbers[key]
			m := n.metrics[number]
			delete(n.numbers, key)
			m.Overflows = true
			n.metrics[number] = n.withoutRoom(m.Kind, m.Name)
			n.displaced++
		}
	}
}

// sweep moves the values of displaced names to Other.
func (n *names) sweep(groups map[string]*group) {
	if n.displaced == 0 {
		return
	}
	n.displaced = 0
	for _, x := range groups {
		for i := range x.cells {
			n.sweepCell(&x.cells[i])
		}
	}
}

func (n *names) sweepCell(c *cell) {
	var others cell
	c.stages = slices.DeleteFunc(c.stages, func(s entry[stageSums]) bool {
		if s.metric.Overflows {
			others.stages.at(0, n.isOther[stages.Timer]).merge(&s.sums)
		}
		return s.metric.Overflows
	})
	c.counters = slices.DeleteFunc(c.counters, func(t entry[Sum]) bool {
		if t.metric.Overflows {
			others.addCounter(0, n.isOther[stages.Counter], t.sums)
		}
		return t.metric.Overflows
	})
	c.merge(&others)
}

// metricOf returns the metric for a name that decisions use. For a name without
// room, it returns a new metric, whose values the next sweep moves to Other.
func (n *names) metricOf(k stages.Kind, name string, fit func()) *stages.Metric {
	m := n.resolve(n.find(stages.KeyOf(k, name)), fit)
	if m.Overflows {
		m = stages.NewMetric(k, name, stages.OtherColumn)
		m.Overflows = true
		n.displaced++
	}
	return m
}

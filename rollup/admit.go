// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"strings"

	"github.com/regometer/regometer/internal/stages"
)

// Here it is decided which paths, stages and counters get a label of their own.
// What has one is found without a lock, and so is that there is no room for
// more: only who gives a label takes the lock, and then looks a second time,
// since another goroutine may have given the same label, or the last one,
// meanwhile.
//
// A label is in its table before it takes up room. So whoever has seen that
// there is none, and looks then, misses no label: not the last one either.

// Admit gives a path a label before it has a decision, and reports whether it
// has one now.
func (r *Rollup) Admit(path string) bool {
	_, overflow := r.rowOf(path)
	return !overflow
}

// rowOf returns the row of the decisions of a path, which is path Other's if
// there is no room for it.
func (r *Rollup) rowOf(path string) (row *row, overflow bool) {
	if row := r.byLabel.get(path); row != nil {
		return row, false
	}
	return r.admitPath(path)
}

// admitPath is rowOf of a path that was not found.
func (r *Rollup) admitPath(path string) (row *row, overflow bool) {
	path = stages.Valid(path)
	full := len(path) > stages.MaxName || r.pathsFull()
	if row := r.byLabel.get(path); row != nil {
		return row, false
	}
	if full {
		return r.other, true
	}
	return r.addPath(path)
}

// addPath gives a path that was not found a label, if there still is room.
func (r *Rollup) addPath(path string) (row *row, overflow bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row := r.byLabel.get(path); row != nil {
		return row, false
	}
	if r.pathsFull() {
		return r.other, true
	}
	row = r.newRow(strings.Clone(path))
	r.byLabel.add(row.label, row)
	rows := append(*r.rows.Load(), row) // readers of the shorter slice do not see it
	r.rows.Store(&rows)
	return row, false
}

// pathsFull reports whether all labels of paths are given. Rows are never
// removed.
func (r *Rollup) pathsFull() bool { return len(*r.rows.Load()) > r.limits.Paths }

// metricOf returns the descriptor of a stage or counter, which has Other's
// column if there is no room for it.
func (r *Rollup) metricOf(k stages.Kind, name string) *stages.Metric {
	key := stages.KeyOf(k, name)
	if m := r.catalog.byKey.get(key); m != nil {
		return m
	}
	return r.admitName(key)
}

// admitName is metricOf of the name in a key that was not found.
func (r *Rollup) admitName(key string) *stages.Metric {
	key = stages.Valid(key)
	k, name := stages.Split(key)
	c, l := r.catalog, r.catalog.labels(k)
	full := len(name) > stages.MaxName || l.full()
	if m := c.byKey.get(key); m != nil {
		return m
	}
	if f := c.known.Family(name); f != nil {
		if k == stages.Timer {
			return f
		}
		return l.isOther
	}
	if full {
		return l.noRoom
	}
	return r.addName(k, name)
}

// addName gives a stage or counter that was not found a label, if there still
// is room.
func (r *Rollup) addName(k stages.Kind, name string) *stages.Metric {
	c, l, key := r.catalog, r.catalog.labels(k), stages.KeyOf(k, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := c.byKey.get(key); m != nil {
		return m
	}
	if l.full() {
		return l.noRoom
	}
	names := l.list()
	m := stages.NewMetric(k, strings.Clone(name), len(names))
	c.byKey.add(key, m)
	names = append(names, m.Name) // readers of the shorter slice do not see it
	l.names.Store(&names)
	return m
}

// full reports whether all labels of the kind are given.
func (l *labels) full() bool { return len(l.list()) == l.limit }

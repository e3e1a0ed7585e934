// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"slices"
	"strings"
)

// AppendJSON appends the JSON text of m to dst and returns the result. The text
// has the bytes that json.Marshal(m) returns, for any implementation of
// [Metrics]. If [New] made m and dst has room, AppendJSON allocates memory only
// for the keys of names that the program has seen only once. It fails only if
// json.Marshal fails, and then returns dst unchanged. It never fails for
// collections from New.
func AppendJSON(dst []byte, m Metrics) ([]byte, error) {
	if c, ok := m.(*collection); ok {
		return c.store().appendJSON(dst), nil
	}
	b, err := json.Marshal(m)
	return append(dst, b...), err
}

// MarshalJSON returns the bytes that json.Marshal(c.All()) returns.
func (c *collection) MarshalJSON() ([]byte, error) {
	return c.store().appendJSON(nil), nil
}

// String returns the metrics as key:value, sorted by key and separated by
// spaces. It writes values as fmt writes the values of All.
func (c *collection) String() string {
	w := writers.Get().(*writer)
	defer w.release()
	w.items = c.store().appendSorted(w.items[:0])
	text := w.json[:0]
	for i := range w.items {
		m := &w.items[i]
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, m.descriptor.key...), ':')
		text, _ = m.appendValue(text, &summaryText)
	}
	w.json = text
	return string(text)
}

// appendJSON appends the JSON text of the store's metrics.
func (s *store) appendJSON(dst []byte) []byte {
	if s.mu.TryLock() {
		if s.cache != nil {
			dst = s.appendCached(dst)
			s.mu.Unlock()
			return dst
		}
		s.cache = marshalledOnce
		s.mu.Unlock()
	}
	if s.more.Load() == nil { // a decision's few numbers fit on the stack
		var room [inlineMetrics]item
		var text [512]byte
		return append(dst, appendItems(text[:0], s.appendSorted(room[:0]))...)
	}
	w := writers.Get().(*writer)
	w.items = s.appendSorted(w.items[:0])
	w.json = appendItems(w.json[:0], w.items)
	dst = append(dst, w.json...)
	w.release()
	return dst
}

// appendCached updates the text that the store keeps, and appends it. The
// caller holds s.mu.
func (s *store) appendCached(dst []byte) []byte {
	if s.cache == marshalledOnce {
		s.cache = new(jsonCache)
	}
	w := writers.Get().(*writer)
	if s.len() == len(s.cache.fragments) && len(s.cache.json) > 0 {
		s.cache.update(w)
	} else {
		w.items = s.appendSorted(w.items[:0])
		s.cache.rebuild(w)
	}
	w.release()
	return append(dst, s.cache.json...)
}

// len returns the number of metrics. The caller holds s.mu.
func (s *store) len() int {
	n := 0
	for n < inlineMetrics && s.names[n].Load() != 0 {
		n++
	}
	if x := s.more.Load(); x != nil {
		n += x.used
	}
	return n
}

// appendSorted appends the metrics of s, sorted by key, to the empty items.
func (s *store) appendSorted(items []item) []item {
	s.each(func(d *descriptor, c *cell, h *histogram) bool {
		items = append(items, item{d, c, h})
		return true
	})
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.descriptor.key, b.descriptor.key) })
	return items
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
)

// jsonCache keeps the last JSON text of a store, and the values in the text.
// When a collection is marshalled again, most metrics have not changed. The
// cache compares values to find the changed ones, so recording does not have to
// note changes.
//
// The cache serves programs that publish one collection repeatedly. A
// decision's collection is marshalled once and keeps no text.
type jsonCache struct {
	fragments []fragment
	json      []byte
}

// marshalledOnce marks a store that was marshalled once.
var marshalledOnce = new(jsonCache)

// fragment is the text of one metric: a brace or a comma, the key, and the
// value.
type fragment struct {
	item
	builtFrom version // the metric's version in the text; for a cell, count is the value
	end       int     // the end of the fragment in the text
}

// item is a metric to marshal.
type item struct {
	descriptor *descriptor
	cell       *cell
	histogram  *histogram // or nil
}

// update updates the text, which must have all metrics. The caller holds the
// lock of the store.
func (c *jsonCache) update(w *writer) {
	// Copy unchanged fragments in one piece, up to the next change. The piece
	// begins at copied.
	w.json = w.json[:0]
	copied, end, shift := 0, 0, 0
	for i := range c.fragments {
		f := &c.fragments[i]
		start := end
		end = f.end
		f.end += shift
		if f.current() {
			continue
		}
		w.json = append(w.json, c.json[copied:start]...)
		w.json = f.renew(w.json, c.json[start:end], i)
		copied = end
		f.end = len(w.json)
		shift = f.end - end
	}
	if copied > 0 {
		w.json = append(w.json, c.json[copied:]...)
		c.json = append(c.json[:0], w.json...)
	}
}

// rebuild makes a new text of the items in w. The caller holds the lock of the
// store.
func (c *jsonCache) rebuild(w *writer) {
	c.fragments = slices.Grow(c.fragments[:0], len(w.items))
	w.json = w.json[:0]
	for i, item := range w.items {
		var builtFrom version
		w.json, builtFrom = item.appendTo(w.json, i)
		c.fragments = append(c.fragments, fragment{item, builtFrom, len(w.json)})
	}
	w.json = closeObject(w.json)
	c.json = append(c.json[:0], w.json...)
}

// current reports whether the text has the metric's current value.
func (f *fragment) current() bool {
	if f.histogram == nil {
		return f.cell.number(f.descriptor.kind) == f.builtFrom.count
	}
	f.histogram.mu.Lock()
	defer f.histogram.mu.Unlock()
	return f.histogram.version() == f.builtFrom
}

// renew appends the current text of the fragment, the i-th of the object. old
// is the previous text.
func (f *fragment) renew(dst, old []byte, i int) []byte {
	if h := f.histogram; h != nil && f.builtFrom.count >= reservoirSize {
		h.mu.Lock()
		now := h.version()
		h.mu.Unlock()
		if now.replaced == f.builtFrom.replaced { // the sample is the same
			f.builtFrom = now
			const count = `"count":`
			value := len("{") + len(f.descriptor.json) // skip the key, which may have this text too
			at := value + bytes.Index(old[value:], []byte(count)) + len(count)
			rest := old[at+bytes.IndexByte(old[at:], ','):]
			return append(strconv.AppendInt(append(dst, old[:at]...), now.count, 10), rest...)
		}
	}
	dst, f.builtFrom = f.appendTo(dst, i)
	return dst
}

// appendTo appends the text of the item, the i-th of the object. It returns the
// version that the text has.
func (m *item) appendTo(dst []byte, i int) ([]byte, version) {
	if i == 0 {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	return m.appendValue(append(dst, m.descriptor.json...), &summaryJSON)
}

// appendValue appends the metric's value. A histogram's summary gets the
// format. It returns the version that the text has.
func (m *item) appendValue(dst []byte, format *summaryFormat) ([]byte, version) {
	if h := m.histogram; h != nil {
		summary, v := h.summary()
		return summary.appendTo(dst, format), v
	}
	v := m.cell.number(m.descriptor.kind)
	if m.descriptor.kind == KindTimer {
		dst = strconv.AppendInt(dst, v, 10)
	} else {
		dst = strconv.AppendUint(dst, uint64(v), 10)
	}
	return dst, version{count: v}
}

// appendItems appends the object with these items to the empty dst.
func appendItems(dst []byte, items []item) []byte {
	for i := range items {
		dst, _ = items[i].appendTo(dst, i)
	}
	return closeObject(dst)
}

func closeObject(dst []byte) []byte {
	if len(dst) == 0 {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// writer holds the memory that marshalling needs besides its result.
type writer struct {
	items []item
	json  []byte
}

// The limits of a writer that the pool keeps.
const (
	maxPooledItems = 1 << 10
	maxPooledJSON  = 64 << 10 // bytes
)

var writers = sync.Pool{New: func() any { return new(writer) }}

func (w *writer) release() {
	if cap(w.items) > maxPooledItems || cap(w.json) > maxPooledJSON {
		return
	}
	clear(w.items) // they would keep the collection alive
	w.items = w.items[:0]
	writers.Put(w)
}

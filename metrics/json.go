// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// AppendJSON appends the JSON text of m to dst: the bytes that json.Marshal(m)
// returns, for any implementation of [Metrics]. For a collection that [New]
// made, and room in dst, it allocates nothing. On an error dst is returned as it
// was.
func AppendJSON(dst []byte, m Metrics) ([]byte, error) {
	if c, ok := m.(*collection); ok {
		return c.store().appendJSON(dst), nil
	}
	b, err := json.Marshal(m)
	return append(dst, b...), err
}

// MarshalJSON returns the same bytes as json.Marshal(c.All()).
func (c *collection) MarshalJSON() ([]byte, error) {
	return c.store().appendJSON(nil), nil
}

// text is the JSON text of a store as it was last marshalled, and what it was
// made from. Most metrics have not changed when a collection is marshalled
// again; whether one has is seen by comparing its value with the one in the
// text, so that recording has nothing to note. A collection that is marshalled
// but once, as a decision's is, makes no text.
type text struct {
	fragments []fragment
	json      []byte
}

// noText stands for a store that was marshalled once.
var noText = new(text)

// fragment is the part of the text that is one metric: a brace or a comma, the
// key, and the value.
type fragment struct {
	descriptor *descriptor
	cell       *cell
	histogram  *histogram // or nil
	value      int64      // of the cell, or the histogram's count
	replaced   uint32     // of the histogram
	end        int        // of the fragment in the text
}

// appendJSON appends the JSON text of the store's metrics.
func (s *store) appendJSON(dst []byte) []byte {
	if s.mu.TryLock() {
		defer s.mu.Unlock()
		switch s.text {
		case nil:
			s.text = noText
		case noText:
			s.text = new(text)
			fallthrough
		default:
			s.text.update(s)
			return append(dst, s.text.json...)
		}
	}
	w := getWriter()
	defer w.release()
	w.gather(s)
	w.json = w.json[:0]
	for i := range w.fragments {
		w.json = w.fragments[i].append(w.json, i)
	}
	w.json = closeObject(w.json)
	return append(dst, w.json...)
}

// update brings the text up to date. s.mu is held.
func (t *text) update(s *store) {
	w := getWriter()
	defer w.release()
	if s.len() != len(t.fragments) {
		w.gather(s)
		t.fragments = append(t.fragments[:0], w.fragments...)
		t.json = t.json[:0]
		for i := range t.fragments {
			f := &t.fragments[i]
			t.json = f.append(t.json, i)
			f.end = len(t.json)
		}
		t.json = closeObject(t.json)
		return
	}
	// What has not changed is copied in one piece up to the next change:
	// pending begins at copied and ends at the current fragment.
	w.json = w.json[:0]
	copied, end := 0, 0
	shift := 0
	for i := range t.fragments {
		f := &t.fragments[i]
		start := end
		end = f.end
		if f.current() {
			f.end += shift
			continue
		}
		w.json = append(w.json, t.json[copied:start]...)
		w.json = f.append(w.json, i)
		f.end = len(w.json)
		shift = f.end - end
		copied = end
	}
	if copied > 0 {
		w.json = append(w.json, t.json[copied:]...)
		t.json = append(t.json[:0], w.json...)
	}
}

// current reports whether the text of the fragment is that of the metric now.
func (f *fragment) current() bool {
	if f.histogram != nil {
		return f.histogram.count.Load() == f.value && f.histogram.replaced.Load() == f.replaced
	}
	return f.cell.value.Load() == f.value
}

// append appends the fragment, the i-th of the object, with the value that the
// metric has now, and notes that.
func (f *fragment) append(dst []byte, i int) []byte {
	if i == 0 {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	dst = append(dst, f.descriptor.json...)
	switch f.descriptor.kind {
	case KindTimer:
		f.value = f.cell.value.Load()
		return strconv.AppendInt(dst, f.value, 10)
	case KindCounter:
		f.value = f.cell.value.Load()
		return strconv.AppendUint(dst, uint64(f.value), 10)
	}
	h := f.histogram
	h.mu.Lock()
	summary, replaced := h.summaryLocked()
	h.mu.Unlock()
	f.value, f.replaced = summary.Count, replaced
	return summary.appendJSON(dst)
}

func closeObject(dst []byte) []byte {
	if len(dst) == 0 {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// appendJSON appends the summary as encoding/json writes the map of
// [Histogram.Value].
func (s Summary) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"75%":`...)
	dst = appendFloat(dst, s.P75)
	dst = append(dst, `,"90%":`...)
	dst = appendFloat(dst, s.P90)
	dst = append(dst, `,"95%":`...)
	dst = appendFloat(dst, s.P95)
	dst = append(dst, `,"99%":`...)
	dst = appendFloat(dst, s.P99)
	dst = append(dst, `,"99.9%":`...)
	dst = appendFloat(dst, s.P999)
	dst = append(dst, `,"99.99%":`...)
	dst = appendFloat(dst, s.P9999)
	dst = append(dst, `,"count":`...)
	dst = strconv.AppendInt(dst, s.Count, 10)
	dst = append(dst, `,"max":`...)
	dst = strconv.AppendInt(dst, s.Max, 10)
	dst = append(dst, `,"mean":`...)
	dst = appendFloat(dst, s.Mean)
	dst = append(dst, `,"median":`...)
	dst = appendFloat(dst, s.Median)
	dst = append(dst, `,"min":`...)
	dst = strconv.AppendInt(dst, s.Min, 10)
	dst = append(dst, `,"stddev":`...)
	dst = appendFloat(dst, s.StdDev)
	return append(dst, '}')
}

// len returns the number of metrics. s.mu is held.
func (s *store) len() int {
	n := 0
	for n < inlineMetrics && s.names[n].Load() != nil {
		n++
	}
	if x := s.more.Load(); x != nil {
		n += x.used
	}
	return n
}

// writer holds what marshalling takes besides its result.
type writer struct {
	fragments []fragment
	json      []byte
}

// Larger ones are left to the garbage collector.
const (
	maxPooledFragments = 1 << 10
	maxPooledJSON      = 64 << 10
)

var writers = sync.Pool{New: func() any { return new(writer) }}

func getWriter() *writer { return writers.Get().(*writer) }

func (w *writer) release() {
	if cap(w.fragments) > maxPooledFragments || cap(w.json) > maxPooledJSON {
		return
	}
	clear(w.fragments) // or they would keep the collection alive
	w.fragments = w.fragments[:0]
	writers.Put(w)
}

// gather sets w.fragments to the metrics of s, sorted by key.
func (w *writer) gather(s *store) {
	w.fragments = w.fragments[:0]
	s.each(func(d *descriptor, c *cell, h *histogram) bool {
		w.fragments = append(w.fragments, fragment{descriptor: d, cell: c, histogram: h})
		return true
	})
	slices.SortFunc(w.fragments, func(a, b fragment) int {
		return strings.Compare(a.descriptor.key, b.descriptor.key)
	})
}

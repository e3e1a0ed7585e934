// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import "bytes"

// metrics reads the object of an event's metrics.
type metrics struct {
	lines  keyLines
	serial uint64                 // of the object that is read
	ask    func(key []byte) int32 // for the number of a key

	measures []Measure
	total    int  // timers and counters of the object
	quoted   bool // a number is a string, as ClickHouse writes it
	problems []Problem
}

const (
	// mostMetrics limits the timers and counters of an event, and roughly the
	// keys that the reader remembers.
	mostMetrics = 10_000
	// longestMetric limits the length of the keys that the reader remembers, in
	// bytes.
	longestMetric = 1024
)

// begin begins an object.
func (m *metrics) begin() {
	m.serial++
	m.measures, m.problems = m.measures[:0], m.problems[:0]
	m.total, m.quoted = 0, false
	if len(m.lines.known) > mostMetrics {
		m.lines.known = nil
	}
}

// newKey returns a key that was not known.
func (m *metrics) newKey(name []byte) *key {
	counts := isTimer(name) || bytes.HasPrefix(name, []byte("counter_"))
	if counts && (len(name) > longestMetric || m.total >= mostMetrics) {
		m.problemIf(true, BadMetric)
	} else if len(name) <= longestMetric && len(m.lines.known) < 2*mostMetrics {
		k := &key{line: otherLine, counts: counts}
		if counts {
			k.number = m.ask(name)
		}
		return k
	}
	return otherKey
}

func isTimer(key []byte) bool {
	return bytes.HasPrefix(key, []byte("timer_")) && bytes.HasSuffix(key, []byte("_ns")) && len(key) > len("timer__ns")
}

// Measure is a timer or counter of a decision, by number.
type Measure struct {
	Metric int32 // as Options.Metric returned it
	Value  int64
}

// take takes the members that memberBlocks has found.
func (m *metrics) take(text []byte, found []foundMember, l *keyLines) {
	for _, f := range found {
		if k, value := l.key(f[0]), int64(f[2])|int64(f[3])<<32; k.counts && value >= 0 {
			m.measure(k, value, true)
		} else if k.counts {
			m.member(text, k, int(f[1]))
		}
	}
}

// member reads the value at i, and returns the index behind it, or -1.
func (m *metrics) member(text []byte, at *key, i int) int {
	if !at.counts {
		return valueEnd(text, i, true)
	}
	value, end := digits(text, i)
	ok := end > i && end < len(text) && (text[end] == ',' || text[end] == '}' || isBlank(text[end])) && (text[i] != '0' || end == i+1)
	if !ok {
		if end = valueEnd(text, i, true); end < 0 {
			return -1
		}
		if m.total < mostMetrics {
			value, ok = m.unusual(text[i:end])
		}
	}
	m.measure(at, value, ok)
	return end
}

// measure notes the value of a timer or counter, if it is ok.
func (m *metrics) measure(at *key, value int64, ok bool) {
	if m.total++; m.total > mostMetrics {
		m.problemIf(true, BadMetric)
		return
	}
	if at.serial == m.serial {
		m.problemIf(true, DuplicateKey)
		return
	}
	at.serial = m.serial
	if ok && at.number >= 0 {
		m.measures = append(m.measures, Measure{Metric: at.number, Value: value})
	}
}

// unusual returns a number that is not a few digits. null is no number, and no
// problem.
func (m *metrics) unusual(text []byte) (value int64, ok bool) {
	value, ok = integer(unwrap(text))
	m.problemIf(!ok && text[0] != 'n', BadMetric)
	m.problemIf(ok && value < 0, NegativeMetric)
	m.quoted = m.quoted || ok && text[0] == '"'
	return value, ok && value >= 0
}

func (m *metrics) problemIf(wrong bool, p Problem) {
	if wrong && len(m.problems) < mostMetrics {
		m.problems = append(m.problems, p)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"math/bits"
	"slices"
)

// metrics reads the object of an event's metrics.
type metrics struct {
	known   map[string]*key // by what it means
	lines   keyLines
	serial  uint64 // of the object that is read
	checked bool   // as the parser's

	measures []Measure
	total    int  // timers and counters of the object
	unknown  bool // there were keys that are not known
	crowded  bool // a problem says that there are too many metrics
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

// parse reads the object at i and returns the index behind it, or -1. It calls
// number for the number of an unknown key. If number is nil, parse leaves the
// metric out and sets unknown.
func (m *metrics) parse(text []byte, i int, number func(key []byte) int32) (end int) {
	m.serial++
	m.reset()
	if len(m.known) > mostMetrics {
		m.forget()
	}
	if i = skipIn(text, i+1, m.checked); i < len(text) && text[i] == '}' {
		return i + 1
	}
	at := &m.lines.start
	for {
		var found []foundMember
		if hasBlocks {
			found = m.lines.read(text, i, at, m.checked, nil)
		}
		for j := range found {
			f := &found[j]
			if k := m.lines.key(f[0]); !k.counts {
				continue
			} else if value := int64(f[2]) | int64(f[3])<<32; value >= 0 {
				m.measure(k, value, true)
			} else {
				m.number(text, int(f[1]), k)
			}
		}
		if n := len(found); n > 0 {
			at, i = m.lines.key(found[n-1][0]), int(m.lines.state[memberEnd])
		} else {
			if guess := at.guess(text, i); guess != nil {
				at = guess
				i += len(at.text)
			} else if at, i = m.key(text, i, at, number); i < 0 {
				return -1
			}
			i = skipIn(text, i, m.checked)
			if at.counts {
				i = m.number(text, i, at)
			} else {
				i = valueEnd(text, i, m.checked)
			}
			if i < 0 {
				return -1
			}
		}
		i = skipIn(text, i, m.checked)
		switch {
		case i >= len(text):
			return -1
		case text[i] == '}':
			m.compact()
			return i + 1
		case text[i] != ',':
			return -1
		}
		i = skipIn(text, i+1, m.checked)
	}
}

// forget forgets all keys, and their numbers.
func (m *metrics) forget() {
	clear(m.known)
	m.lines = keyLines{}
}

func (m *metrics) reset() {
	m.measures, m.problems = m.measures[:0], m.problems[:0]
	m.total, m.unknown, m.crowded = 0, false, false
}

// key reads the key at i, which follows another one, and returns the index
// behind its colon, or -1.
func (m *metrics) key(text []byte, i int, before *key, number func(key []byte) int32) (*key, int) {
	end, colon := keyEnd(text, i, m.checked)
	if end < 0 {
		return nil, -1
	}
	name, _, _ := unquote(nil, text[i:end])
	at := m.known[string(name)]
	switch {
	case at != nil:
	case !isTimer(name) && !bytes.HasPrefix(name, []byte("counter_")):
		if len(m.known) >= 2*mostMetrics || len(name) > longestMetric {
			return otherKey, colon
		}
		at = m.remember(name, text[i:colon])
	case number == nil:
		m.unknown = true
		return otherKey, colon
	case len(name) > longestMetric:
		m.problemIf(true, BadMetric)
		return otherKey, colon
	case m.total >= mostMetrics:
		m.noteCrowd()
		return otherKey, colon
	default:
		at = m.remember(name, text[i:colon])
		at.counts, at.number = true, number(name)
	}
	m.lines.follow(before, at)
	return at, colon
}

func (m *metrics) remember(name, written []byte) *key {
	if m.known == nil {
		m.known = map[string]*key{}
	}
	k := &key{text: string(written)}
	m.lines.add(k)
	m.known[string(name)] = k
	return k
}

func isTimer(key []byte) bool {
	return bytes.HasPrefix(key, []byte("timer_")) && bytes.HasSuffix(key, []byte("_ns")) && len(key) > len("timer__ns")
}

// number reads a timer or counter at i and returns the index behind it, or -1.
func (m *metrics) number(text []byte, i int, at *key) int {
	value, end := digits(text, i)
	ok := end > i && end < len(text) && (text[end] == ',' || text[end] == '}') && (text[i] != '0' || end == i+1)
	if !ok {
		if end = valueEnd(text, i, m.checked); end < 0 {
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
		m.noteCrowd()
		return
	}
	if at.serial == m.serial {
		m.problemIf(true, DuplicateKey)
		if at.at >= 0 {
			m.measures[at.at].Metric = noMeasure
		}
	}
	at.serial, at.at = m.serial, -1
	if ok && at.number >= 0 {
		at.at = len(m.measures)
		m.measures = append(m.measures, Measure{Metric: at.number, Value: value})
	}
}

// unusual returns a number that is not a few digits. null is no number, and no
// problem.
func (m *metrics) unusual(text []byte) (value int64, ok bool) {
	value, ok = integer(unwrap(text))
	m.problemIf(!ok && text[0] != 'n', BadMetric)
	m.problemIf(ok && value < 0, NegativeMetric)
	return value, ok && value >= 0
}

// digits returns the number that begins at i, of at most 16 digits, and the
// index behind it.
func digits(text []byte, i int) (value int64, end int) {
	for end = i; end < len(text) && isDigit(text[end]) && end < i+16; end++ {
		value = value*10 + int64(text[end]-'0')
	}
	return value, end
}

// eightDigits returns the number of leading digits in the word, and their value
// (Lemire: Quickly parsing eight digits, 2018).
func eightDigits(word uint64) (n uint, value int64) {
	word ^= '0' * ones
	// Beyond 9, adding 0x76 sets a byte's uppermost bit.
	n = uint(bits.TrailingZeros64((word|(word+0x76*ones))&(0x80*ones))) / 8
	word <<= 64 - 8*n // behind zeros
	word = word*10 + word>>8
	return n, int64(((word&0x000000FF000000FF)*0x000F424000000064 + (word>>16&0x000000FF000000FF)*0x0000271000000001) >> 32)
}

// powers are the powers of ten.
var powers = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// noMeasure marks a measure that a later measure of the same metric has
// replaced.
const noMeasure = -1

// compact removes the measures that later measures have replaced.
func (m *metrics) compact() {
	if slices.Contains(m.problems, DuplicateKey) {
		m.measures = slices.DeleteFunc(m.measures, func(x Measure) bool { return x.Metric == noMeasure })
	}
}

// noteCrowd notes, once, that the object has too many metrics.
func (m *metrics) noteCrowd() {
	m.problemIf(!m.crowded, TooManyMetrics)
	m.crowded = true
}

func (m *metrics) problemIf(wrong bool, p Problem) {
	if wrong && len(m.problems) < mostMetrics {
		m.problems = append(m.problems, p)
	}
}

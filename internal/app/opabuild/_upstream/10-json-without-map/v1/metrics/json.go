// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// member is a member of the JSON object.
type member struct {
	key    string
	metric interface{ appendJSON([]byte) []byte }
}

// MarshalJSON returns what json.Marshal(m.All()) returns, without the map.
func (m *metrics) MarshalJSON() ([]byte, error) {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	members := make([]member, 0, m.timers.len()+len(m.histograms)+m.counters.len())
	for name, timer := range m.timers.all {
		members = append(members, member{timerKey(name), timer})
	}
	for name, hist := range m.histograms {
		members = append(members, member{"histogram_" + name, hist.(*histogram)})
	}
	for name, cntr := range m.counters.all {
		members = append(members, member{counterKey(name), cntr})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })

	buf := make([]byte, 0, 2+40*len(members)+240*len(m.histograms))
	buf = append(buf, '{')
	for i, v := range members {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = v.metric.appendJSON(append(appendString(buf, v.key), ':'))
	}
	return append(buf, '}'), nil
}

func (t *timer) appendJSON(buf []byte) []byte {
	return strconv.AppendInt(buf, t.Int64(), 10)
}

func (c *counter) appendJSON(buf []byte) []byte {
	return strconv.AppendUint(buf, c.c.Load(), 10)
}

func (h *histogram) appendJSON(buf []byte) []byte {
	s := h.summary()
	buf = appendFloat(append(buf, `{"75%":`...), s.percentiles[1])
	buf = appendFloat(append(buf, `,"90%":`...), s.percentiles[2])
	buf = appendFloat(append(buf, `,"95%":`...), s.percentiles[3])
	buf = appendFloat(append(buf, `,"99%":`...), s.percentiles[4])
	buf = appendFloat(append(buf, `,"99.9%":`...), s.percentiles[5])
	buf = appendFloat(append(buf, `,"99.99%":`...), s.percentiles[6])
	buf = strconv.AppendInt(append(buf, `,"count":`...), s.count, 10)
	buf = strconv.AppendInt(append(buf, `,"max":`...), s.max, 10)
	buf = appendFloat(append(buf, `,"mean":`...), s.mean)
	buf = appendFloat(append(buf, `,"median":`...), s.percentiles[0])
	buf = strconv.AppendInt(append(buf, `,"min":`...), s.min, 10)
	buf = appendFloat(append(buf, `,"stddev":`...), s.stdDev)
	return append(buf, '}')
}

// appendString appends s as encoding/json writes it.
func appendString(buf []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_':
		default:
			quoted, _ := json.Marshal(s) // a string can always be encoded
			return append(buf, quoted...)
		}
	}
	return append(append(append(buf, '"'), s...), '"')
}

// appendFloat appends f as encoding/json writes it. The numbers of a histogram
// are too small for an exponent, except that a percentile between a negative
// and a positive value may be close to zero.
func appendFloat(buf []byte, f float64) []byte {
	if f != 0 && math.Abs(f) < 1e-6 {
		text, _ := json.Marshal(f)
		return append(buf, text...)
	}
	return strconv.AppendFloat(buf, f, 'f', -1, 64)
}

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
	key       string
	histogram *histogram // or nil, and the number
	number    uint64     // the bits of a timer's int64, if it is one
	isTimer   bool
}

// MarshalJSON returns what json.Marshal(m.All()) does, without that map.
func (m *metrics) MarshalJSON() ([]byte, error) {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	members := make([]member, 0, m.timers.len()+m.counters.len()+m.histograms.len())
	m.timers.each(m.firstTimers[:], func(name string, t *timer) {
		members = append(members, member{key: timerKey(name), number: uint64(t.Int64()), isTimer: true})
	})
	m.counters.each(m.firstCounters[:], func(name string, c *counter) {
		members = append(members, member{key: counterKey(name), number: c.c.Load()})
	})
	m.histograms.each(nil, func(name string, h *histogram) {
		members = append(members, member{key: histogramPrefix + name, histogram: h})
	})
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })

	buf := make([]byte, 0, 2+40*len(members)+240*m.histograms.len())
	buf = append(buf, '{')
	for i, v := range members {
		if i > 0 {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = appendKey(buf, v.key); err != nil {
			return nil, err
		}
		switch {
		case v.histogram != nil:
			s := v.histogram.sample.summary()
			buf = s.appendJSON(buf)
		case v.isTimer:
			buf = strconv.AppendInt(buf, int64(v.number), 10)
		default:
			buf = strconv.AppendUint(buf, v.number, 10)
		}
	}
	return append(buf, '}'), nil
}

// appendKey appends a key as a JSON string, and a colon.
func appendKey(buf []byte, key string) ([]byte, error) {
	for i := range len(key) {
		switch c := key[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_':
		default:
			quoted, err := json.Marshal(key)
			return append(append(buf, quoted...), ':'), err
		}
	}
	buf = append(buf, '"')
	buf = append(buf, key...)
	return append(buf, '"', ':'), nil
}

// appendJSON appends what json.Marshal(s.value()) returns.
func (s *summary) appendJSON(buf []byte) []byte {
	float := func(key string, f float64) {
		buf = appendFloat(append(buf, key...), f)
	}
	integer := func(key string, i int64) {
		buf = strconv.AppendInt(append(buf, key...), i, 10)
	}
	float(`{"75%":`, s.percentiles[1])
	float(`,"90%":`, s.percentiles[2])
	float(`,"95%":`, s.percentiles[3])
	float(`,"99%":`, s.percentiles[4])
	float(`,"99.9%":`, s.percentiles[5])
	float(`,"99.99%":`, s.percentiles[6])
	integer(`,"count":`, s.count)
	integer(`,"max":`, s.maxV)
	float(`,"mean":`, s.mean)
	float(`,"median":`, s.percentiles[0])
	integer(`,"min":`, s.minV)
	float(`,"stddev":`, s.stdDev)
	return append(buf, '}')
}

// appendFloat appends a number as encoding/json writes it. None is so large
// that it has an exponent, but a percentile between a negative and a positive
// value may be next to nothing.
func appendFloat(buf []byte, f float64) []byte {
	if f == 0 || math.Abs(f) >= 1e-6 {
		return strconv.AppendFloat(buf, f, 'f', -1, 64)
	}
	buf = strconv.AppendFloat(buf, f, 'e', -1, 64)
	if n := len(buf); buf[n-3] == '-' && buf[n-2] == '0' { // e-09 is e-9
		buf = append(buf[:n-2], buf[n-1])
	}
	return buf
}

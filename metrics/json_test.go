// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// checkJSON checks that all ways to the JSON of m give the bytes of
// json.Marshal(m.All()).
func checkJSON(t *testing.T, m metrics.Metrics) {
	t.Helper()
	want, err := json.Marshal(m.All())
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.MarshalJSON()
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("MarshalJSON is (error %v)\n%.3000s\nwant\n%.3000s", err, got, want)
	}
	got, err = metrics.AppendJSON([]byte("before"), m)
	if err != nil || string(got) != "before"+string(want) {
		t.Fatalf("AppendJSON is (error %v)\n%.3000s\nwant\n%.3000s", err, got, want)
	}
	got, err = json.Marshal(m)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("json.Marshal is (error %v)\n%.3000s\nwant\n%.3000s", err, got, want)
	}
}

// oddNames need care in a key, in its order or in JSON.
var oddNames = []string{
	metrics.RegoQueryEval, "", "a!", "a_", "_ns", `"`, `\`, "<script>&", "\x00\x1f\x7f", "\b\f\n\r\t",
	"\u2028\u2029", "\xff\xfe", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\ufffd", "世界", "😀", strings.Repeat("long\u2028", 1000),
}

// outputPieces are parts of the output of a collection. Names made of them look
// like the output around them.
var outputPieces = []string{
	`"count":`, `"count`, `,"count":1,`, `{"75%":`, `"stddev":`, `{`, `}`, `":`, `":{`, `,`, `"`, `\`, `\"`, `:`, ` `, `0`,
	"map[75%:", " count:", " stddev:", "]", "timer_", "_ns", "counter_", "histogram_",
}

// nameOfPieces makes a name. A byte stands for a piece of output, or for itself
// if its highest bit is set.
func nameOfPieces(recipe []byte) string {
	var name []byte
	for _, b := range recipe {
		if b < 0x80 {
			name = append(name, outputPieces[int(b)%len(outputPieces)]...)
		} else {
			name = append(name, b-0x80)
		}
	}
	return string(name)
}

// extremeValues are the ends of what an int64 and a float64 hold exactly.
var extremeValues = []int64{
	0, 1, -1, 255, 256, 1 << 31, -1 << 31, 1<<53 - 1, 1 << 53, 1<<53 + 1, -1<<53 - 1,
	999_999_999_999_999, 1e15, 1e18, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1,
}

// TestAppendJSON checks that AppendJSON appends, in place if there is room.
func TestAppendJSON(t *testing.T) {
	m := metrics.New()
	m.Counter("c").Add(12)
	buffer := make([]byte, 3, 100)
	copy(buffer, "abc")
	got, err := metrics.AppendJSON(buffer, m)
	if err != nil || string(got) != `abc{"counter_c":12}` {
		t.Errorf("AppendJSON is %q (error %v)", got, err)
	}
	if &got[0] != &buffer[0] {
		t.Error("AppendJSON made a new buffer although there was room")
	}
	for _, m := range []metrics.Metrics{metrics.NoOp(), wrapper{m}, wrapper{metrics.NoOp()}} {
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := metrics.AppendJSON([]byte("abc"), m)
		if err != nil || string(got) != "abc"+string(want) {
			t.Errorf("AppendJSON of %T is %q (error %v), want abc%s", m, got, err, want)
		}
	}
	got, err = metrics.AppendJSON(buffer, broken{m})
	if err == nil || string(got) != "abc" {
		t.Errorf("AppendJSON of a collection with a broken MarshalJSON is %q (error %v)", got, err)
	}
}

// wrapper has the methods of the interface only, as a type of another program
// that embeds a collection.
type wrapper struct{ metrics.Metrics }

// broken is another implementation, whose MarshalJSON fails.
type broken struct{ metrics.Metrics }

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("broken") }

// FuzzJSON checks the JSON of metrics of any name and value. The names are the
// argument itself, and the name that nameOfPieces makes of it.
func FuzzJSON(f *testing.F) {
	for i, name := range oddNames {
		for _, value := range extremeValues {
			f.Add(name, value, extremeValues[i%len(extremeValues)], uint64(value))
		}
	}
	for i := range outputPieces {
		f.Add(string([]byte{'a' + 0x80, byte(i)}), int64(i), int64(1), uint64(i))
		f.Add(string([]byte{byte(i), byte(i + 7)}), int64(i), int64(1), uint64(i))
	}
	f.Fuzz(func(t *testing.T, name string, a, b int64, n uint64) {
		for _, name := range []string{name, nameOfPieces([]byte(name))} {
			m := metrics.New()
			m.Timer(name)
			m.Counter(name).Add(n)
			h := m.Histogram(name)
			checkJSON(t, m)
			h.Update(a)
			checkJSON(t, m)
			h.Update(b)
			checkJSON(t, m)
			m.Counter(name + "\x00").Add(n / 7)
			m.Histogram("\x00" + name).Update(int64(n))
			checkJSON(t, m)
			for range 4 * sampleSize {
				h.Update(a)
			}
			for range 5 { // mostly, only the count changes
				h.Update(b)
				checkJSON(t, m)
			}
		}
	})
}

func mustMarshal(t *testing.T, m metrics.Metrics) []byte {
	t.Helper()
	b, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

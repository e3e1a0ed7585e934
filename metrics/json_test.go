// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"encoding/json"
	"errors"
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

// TestMarshalOfOwnBytes: the bytes that MarshalJSON and AppendJSON return are
// the caller's.
func TestMarshalOfOwnBytes(t *testing.T) {
	m := metrics.New()
	m.Counter("c").Add(1)
	m.Histogram("h").Update(1)
	for range 5 {
		b, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		clear(b)
		if b, err = metrics.AppendJSON(nil, m); err != nil {
			t.Fatal(err)
		}
		clear(b)
		checkJSON(t, m)
	}
}

// TestAppendJSON: AppendJSON appends, in place where there is room.
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
		t.Errorf("AppendJSON of a collection that cannot be marshalled is %q (error %v)", got, err)
	}
}

// broken is a foreign implementation whose MarshalJSON fails.
type broken struct{ metrics.Metrics }

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("broken") }

// FuzzJSON checks the JSON of metrics of any name and value: name itself, and
// what [nameOfPieces] makes of it.
func FuzzJSON(f *testing.F) {
	for _, name := range oddNames {
		for _, value := range extremeValues {
			f.Add(name, value, value/3, uint64(value))
		}
	}
	for i := range outputPieces {
		f.Add(string([]byte{'a' + 0x80, byte(i)}), int64(i), int64(1), uint64(i))
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
			for range sampleSize {
				h.Update(a)
			}
			for range 3 { // in most cases only the count is written anew
				h.Update(b)
				checkJSON(t, m)
			}
		}
	})
}

// TestMarshalOfOutputLikeNames: names that look like the output around them,
// when all that changes is the count of a full reservoir, and when the text is
// made anew.
func TestMarshalOfOutputLikeNames(t *testing.T) {
	var names []string
	for i, piece := range outputPieces {
		names = append(names, piece, "a"+piece, piece+"a", piece+outputPieces[(i+7)%len(outputPieces)])
	}
	m := metrics.New()
	for _, name := range names {
		m.Timer(name)
		m.Counter(name).Incr()
		for i := range 4 * int64(sampleSize) {
			m.Histogram(name).Update(i)
		}
	}
	for range 5 {
		checkJSON(t, m)
		for _, name := range names {
			m.Histogram(name).Update(5)
		}
	}
}

func mustMarshal(t *testing.T, m metrics.Metrics) []byte {
	t.Helper()
	b, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

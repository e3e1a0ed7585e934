// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/metrics"
)

// TestLogValue: a collection's log value has the keys, the types and, in a
// handler's JSON, the numbers of All.
func TestLogValue(t *testing.T) {
	m := metrics.New()
	for i, name := range oddNames {
		if name == "\xff\xfe" || name == "a\xc3" || name == "\xed\xa0\x80" || name == "\xf4\x90\x80\x80" {
			continue // keys that are the same in JSON
		}
		m.Timer(name).Start()
		time.Sleep(time.Microsecond)
		m.Timer(name).Stop()
		m.Counter(name).Add(uint64(i) << 55)
		for v := range i * 100 {
			m.Histogram(name).Update(int64(v * v))
		}
		m.Histogram(name)
	}
	all := m.All()

	value := m.(slog.LogValuer).LogValue()
	if value.Kind() != slog.KindGroup {
		t.Fatalf("the value is a %v", value.Kind())
	}
	var keys []string
	for _, a := range value.Group() {
		keys = append(keys, a.Key)
		var got any
		if a.Value.Kind() == slog.KindGroup {
			fields := map[string]any{}
			for _, f := range a.Value.Group() {
				fields[f.Key] = f.Value.Any()
			}
			got = fields
		} else {
			got = a.Value.Any()
		}
		if !reflect.DeepEqual(got, all[a.Key]) {
			t.Errorf("%q is %T %v, in All %T %v", a.Key, got, got, all[a.Key], all[a.Key])
		}
	}
	if want := slices.Sorted(maps.Keys(all)); !slices.Equal(keys, want) {
		t.Errorf("the keys are %q, want %q", keys, want)
	}

	var line bytes.Buffer
	slog.New(slog.NewJSONHandler(&line, nil)).Info("message", "m", m)
	if got, want := numbers(t, line.Bytes())["m"], any(numbers(t, mustMarshal(t, m))); !reflect.DeepEqual(got, want) {
		t.Errorf("logged was\n%v\nwant\n%v", got, want)
	}

	// An empty collection is an empty group, which handlers leave out.
	if v := metrics.New().(slog.LogValuer).LogValue(); v.Kind() != slog.KindGroup || len(v.Group()) != 0 {
		t.Errorf("the value of an empty collection is %v", v)
	}
}

// numbers decodes JSON, with numbers as they are written.
func numbers(t *testing.T, b []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		t.Fatalf("%v in %.2000s", err, b)
	}
	return m
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build goexperiment.jsonv2 && go1.27

package metrics_test

import (
	"bytes"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/metrics"
)

// TestMarshalJSONTo checks that encoding/json/v2 writes a collection as it
// writes the result of All, with any of its options.
func TestMarshalJSONTo(t *testing.T) {
	m := metrics.New()
	if _, ok := m.(jsonv2.MarshalerTo); !ok {
		t.Fatal("the result of New is not a json.MarshalerTo")
	}
	for i, name := range oddNames {
		if utf8.ValidString(name) { // others are an error in encoding/json/v2
			m.Counter(name).Add(uint64(i) << 40)
			m.Timer(name)
			m.Histogram(name).Update(int64(i))
		}
	}
	for _, options := range []jsonv2.Options{
		jsonv2.JoinOptions(), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true), jsontext.Multiline(true),
	} {
		for range 2 {
			got, err := jsonv2.Marshal(m, options)
			want, err2 := jsonv2.Marshal(m.All(), options, jsonv2.Deterministic(true))
			if err != nil || err2 != nil || !sameButOrder(got, want) {
				t.Errorf("%v: the text is\n%.3000s (error %v), want\n%.3000s (error %v)", options, got, err, want, err2)
			}
		}
	}
}

// sameButOrder compares two JSON texts by their canonical form: deterministic
// maps of encoding/json/v2 are sorted by UTF-16 code units, ours byte-wise.
func sameButOrder(a, b []byte) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	if x.Canonicalize() != nil || y.Canonicalize() != nil {
		return false
	}
	return bytes.Equal(x, y) && len(a) == len(b)
}

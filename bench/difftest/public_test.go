// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/regometer/regometer/metrics"
)

// Users can see the types behind the interfaces by assertion, by reflection,
// and in the output of packages such as fmt and encoding/gob. These tests
// compare the types. The differences are in differences_test.go.

// twins are two values of the same meaning, one of each package.
type twins struct{ ours, opas any }

// all returns every kind of value that the packages hand out.
func allTwins() map[string]twins {
	ours, opas := metrics.New(), opa.New()
	none, opasNone := metrics.NoOp(), opa.NoOp()
	return map[string]twins{
		"collection":      {ours, opas},
		"timer":           {ours.Timer("a"), opas.Timer("a")},
		"histogram":       {ours.Histogram("a"), opas.Histogram("a")},
		"counter":         {ours.Counter("a"), opas.Counter("a")},
		"no-op":           {none, opasNone},
		"no-op timer":     {none.Timer("a"), opasNone.Timer("a")},
		"no-op histogram": {none.Histogram("a"), opasNone.Histogram("a")},
		"no-op counter":   {none.Counter("a"), opasNone.Counter("a")},
		"info":            {ours.Info(), opas.Info()},
		"statistics":      {metrics.Statistics(1, 2), opa.Statistics(1, 2)},
	}
}

// TestMethodSets: the types have the methods of OPA's, and of these the
// signatures, and no others.
func TestMethodSets(t *testing.T) {
	for name, v := range allTwins() {
		got, want := methods(v.ours), methods(v.opas)
		delete(got, "MarshalJSONTo") // from Go 1.27 on
		if !maps.Equal(got, want) {
			t.Errorf("%s has the methods %v, OPA's %v", name, got, want)
		}
	}
}

// methods returns the signatures of the methods of v by name.
func methods(v any) map[string]string {
	all := map[string]string{}
	for i := range reflect.TypeOf(v).NumMethod() {
		m := reflect.TypeOf(v).Method(i)
		all[m.Name] = strings.TrimPrefix(reflect.ValueOf(v).Method(i).Type().String(), "func")
	}
	return all
}

// TestPrinting compares the output of fmt with all verbs that do not show the
// fields of a type, and the output for values without fields.
func TestPrinting(t *testing.T) {
	for name, v := range allTwins() {
		formats := []string{"%v", "%+v", "%s", "%q", "%x", "%10v", "%T", "%#v", "%d"}
		switch name {
		case "collection":
			formats = formats[:6]
		case "timer", "histogram", "counter":
			formats = []string{"%T"}
		}
		for _, format := range formats {
			if got, want := fmt.Sprintf(format, v.ours), fmt.Sprintf(format, v.opas); got != want {
				t.Errorf("%s with %s is %q, OPA's %q", name, format, got, want)
			}
		}
	}
}

// TestEncoding compares the output of encoders, and their errors.
func TestEncoding(t *testing.T) {
	encoders := map[string]func(v any) ([]byte, error){
		"json": json.Marshal,
		"xml":  xml.Marshal,
		"gob": func(v any) ([]byte, error) {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(v)
			return b.Bytes(), err
		},
	}
	for name, v := range allTwins() {
		for encoder, encode := range encoders {
			if name == "collection" && encoder != "json" {
				continue // the name of its type
			}
			got, err := encode(v.ours)
			want, wantErr := encode(v.opas)
			if encoder == "gob" { // which numbers types as they come
				got, want = nil, nil
			}
			if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s as %s is %q (error %v), OPA's %q (error %v)", name, encoder, got, err, want, wantErr)
			}
		}
	}
}

// TestComparing compares which values are equal with ==, or as the key of a
// map.
func TestComparing(t *testing.T) {
	first, second := allTwins(), allTwins()
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if reflect.TypeOf(first[name].opas).Comparable() != reflect.TypeOf(first[name].ours).Comparable() {
			t.Fatalf("%s can be compared in one package", name)
		}
		if !reflect.TypeOf(first[name].opas).Comparable() {
			continue
		}
		got, want := first[name].ours == second[name].ours, first[name].opas == second[name].opas
		if got != want {
			t.Errorf("two of %s are equal: %v, OPA's: %v", name, got, want)
		}
	}
}

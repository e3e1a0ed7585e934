// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/regometer/regometer/metrics"
)

// TestMethodSets: the types behind the interfaces have the methods of OPA's,
// with the same signatures, and no others. Users can see them by assertion.
func TestMethodSets(t *testing.T) {
	ours, opas := metrics.New(), opa.New()
	none, opasNone := metrics.NoOp(), opa.NoOp()
	for name, v := range map[string][2]any{
		"collection":      {ours, opas},
		"timer":           {ours.Timer("a"), opas.Timer("a")},
		"histogram":       {ours.Histogram("a"), opas.Histogram("a")},
		"counter":         {ours.Counter("a"), opas.Counter("a")},
		"no-op":           {none, opasNone},
		"no-op timer":     {none.Timer("a"), opasNone.Timer("a")},
		"no-op histogram": {none.Histogram("a"), opasNone.Histogram("a")},
		"no-op counter":   {none.Counter("a"), opasNone.Counter("a")},
	} {
		got, want := methods(v[0]), methods(v[1])
		delete(got, "MarshalJSONTo") // from Go 1.27 on
		if !maps.Equal(got, want) {
			t.Errorf("%s has the methods %v, OPA's %v", name, got, want)
		}
		if reflect.TypeOf(v[0]).Comparable() != reflect.TypeOf(v[1]).Comparable() {
			t.Errorf("%s can be compared in one package", name)
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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ideas

import (
	"reflect"
	"testing"
)

var ideas = []idea{
	pair("handwritten_json_of_a_map", encodingJSON, handWritten),
	pair("handwritten_json_in_place", opaMarshal, handWrittenMarshal),
	pair("keys_kept_in_the_collection", keysFormatted, keysKept),
	pair("keys_kept_and_used_once", keysFormattedOnce, keysKeptOnce),
	pair("keys_kept_in_a_table", keysFormatted, keysInTable),
	pair("keys_kept_escaped", keysEscaped, keysReady),
	pair("integers_without_fmt", integersByFmt, integersByStrconv),
	pair("string_without_fmt", opaString, stringByStrconv),
	pair("percentile_list_shared", percentileListPerCall, percentileListShared),
	pair("percentile_list_behind_interface", percentileListEscaping, percentileListSharedBehind),
	pair("percentiles_as_constants", percentileListPerCall, percentilesAsConstants),
	pair("field_names_interned", fieldsByConstant, fieldsInterned),
	pair("field_names_as_labels", fieldsQuoted, fieldsAsLabels),
	pair("builder_pooled", builderMade, builderPooled),
	pair("builder_pooled_or_sized", builderSized, builderPooled),
}

// An idea is a step with and without the idea.
type idea struct {
	name          string
	without, with func(b *testing.B)
	check         func(t *testing.T)
}

// pair makes an idea of two ways to do a step. Each makes a function that does
// the step once for each call and returns the result, which is valid until the
// next call.
func pair[T any](name string, without, with func() func() T) idea {
	bench := func(side func() func() T) func(*testing.B) {
		return func(b *testing.B) {
			do := side()
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		}
	}
	return idea{name, bench(without), bench(with), func(t *testing.T) {
		want, got := without(), with()
		for i := range 50 {
			if want, got := want(), got(); !reflect.DeepEqual(want, got) {
				t.Fatalf("call %d: without the idea %v, with it %v", i, want, got)
			}
		}
	}}
}

func BenchmarkIdeas(b *testing.B) {
	for _, idea := range ideas {
		b.Run("idea="+idea.name+"/impl=without", idea.without)
		b.Run("idea="+idea.name+"/impl=with", idea.with)
	}
}

// The times say nothing unless both ways have the same results.
func TestSameResults(t *testing.T) {
	t.Parallel()
	for _, idea := range ideas {
		t.Run(idea.name, idea.check)
	}
}

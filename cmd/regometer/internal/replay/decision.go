// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// evaluation is the timer that a replay measures again.
const evaluation = "timer_rego_query_eval_ns"

// A decision is an event of a log.
type decision struct {
	*logread.Event // while it is replayed

	text  []byte              // of the event, and a line break
	place func() report.Place // when the log has been read
	hash  uint64              // decides which decisions a sample keeps
	of    float64             // the decisions of the log for which this one stands
	time  int64               // of the event, which its text may lack
	took  int64               // ns: the logged evaluation, or 0
}

// durationOf returns the logged duration of an event's evaluation, or 0.
func durationOf(e *logread.Event, key func(metric int32) string) int64 {
	for _, m := range e.Measures {
		if key(m.Metric) == evaluation {
			return m.Value
		}
	}
	return 0
}

// newDecision copies an event.
func newDecision(e *logread.Event, took int64, place func() report.Place) *decision {
	return &decision{text: slices.Concat(e.Text, []byte{'\n'}), place: place, hash: hashOf(e), of: 1, time: e.Time, took: took}
}

// isQuery reports whether the decision is an ad-hoc query, which has no path.
func (d *decision) isQuery() bool { return string(d.Path) == outcome.Query }

// hides reports whether a mask policy has hidden a field of the event, or a part
// of it.
func (d *decision) hides(field string) bool {
	pointer := []byte(`"/` + field)
	return bytes.Contains(d.Erased, pointer) || bytes.Contains(d.Masked, pointer)
}

// hashOf returns a hash of an event's id and time.
func hashOf(e *logread.Event) uint64 { return report.Hash(uint64(e.Time), e.DecisionID) }

// parseCache parses the answers of built-in functions in a log, by name and
// arguments. JSON has made texts of the arguments, and lists of sets.
func parseCache(text []byte) (builtins.NDBCache, error) {
	cache, logged := builtins.NDBCache{}, map[string]map[string]any{}
	if text != nil {
		if err := util.UnmarshalJSON(text, &logged); err != nil {
			return nil, err
		}
	}
	for name, calls := range logged {
		builtin := ast.BuiltinMap[name]
		if builtin == nil {
			return nil, fmt.Errorf("OPA has no built-in function %s", name)
		}
		for arguments, answer := range calls {
			key, err := ast.ValueFromReader(strings.NewReader(arguments))
			value, err2 := ast.InterfaceToValue(answer)
			if err := cmp.Or(err, err2); err != nil {
				return nil, err
			}
			cache.Put(name, key, asSet(value, builtin.Decl.Result()))
		}
	}
	return cache, nil
}

// asSet returns a list as a set if the type is one.
func asSet(v ast.Value, t types.Type) ast.Value {
	list, isList := v.(*ast.Array)
	if _, ok := t.(*types.Set); !ok || !isList {
		return v
	}
	set := ast.NewSet()
	list.Foreach(set.Add)
	return set
}

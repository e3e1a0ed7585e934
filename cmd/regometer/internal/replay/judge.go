// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// A verdict says how the result of a decision compares with another.
type verdict uint8

const (
	equal         verdict = iota
	changed               // by the policy
	apart                 // it may differ because of something that the log does not tell
	notRepeatable         // it cannot be compared
)

// verdictNames are the names of verdicts.
var verdictNames = [...]string{"equal", "changed", "apart", "not-repeatable"}

// The kinds of changes.
const (
	toDenied  = "allowed-to-denied"
	toAllowed = "denied-to-allowed"
	toOther   = "other"
)

// noJSON is a reason.
const noJSON = "an input or a result that is no JSON"

// judge compares the answer of the policy with the one before, which is that of
// the other policy, or else the log's. kind is the kind of the change, or a
// reason.
func (w *worker) judge(d *decision, before, a *answer) (_ verdict, kind string) {
	if before.code == cutOff || a.code == cutOff {
		return notRepeatable, cutOff
	}
	const unlogged = " without a logged answer"
	logged := w.old == nil
	refused, clock := max(before.refused, a.refused), max(before.clock, a.clock)
	unanswered := max(before.unanswered, a.unanswered, refused)
	switch {
	case !logged && refused != "": // equal results would say nothing
		return notRepeatable, refused + unlogged
	case before.code == a.code && isSame(before.result, a.result), a.code == otherError && before.code != "", before.code == otherError && a.code != "",
		logged && a.failed && d.Code == topdown.BuiltinErr,                 // a client can ask for this error, and the log does not say so
		logged && string(a.result) == "null" && string(d.Result) == "null": // some logs have this in place of no result
		return equal, ""
	case logged && d.Result != nil && !json.Valid(d.Result):
		return notRepeatable, noJSON
	case d.hides("input"):
		return apart, "a masked input"
	case logged && d.hides("result"):
		return apart, "a masked result"
	case unanswered != "":
		return notRepeatable, unanswered + unlogged
	case !logged:
		return changed, changeOf(w.outcomeOf(d, before), w.outcomeOf(d, a))
	case clock != "":
		return apart, clock + unlogged
	case d.Outcome == outcome.Cancelled:
		return notRepeatable, "the client left"
	case a.code != "":
		return notRepeatable, "an error that the log lacks: " + a.code
	case before.code != "":
		return notRepeatable, "an error that the policy lacks"
	case d.Input == nil:
		return notRepeatable, "no input in the log"
	case a.lacks != "":
		return notRepeatable, a.lacks
	}
	return changed, changeOf(d.Outcome, w.outcomeOf(d, a))
}

// isSame reports whether two texts of JSON have the same value, or both are
// undefined.
func isSame(a, b []byte) bool {
	if bytes.Equal(a, b) || len(a)*len(b) == 0 {
		return bytes.Equal(a, b)
	}
	x, err := ast.ValueFromReader(bytes.NewReader(a))
	y, err2 := ast.ValueFromReader(bytes.NewReader(b))
	return err == nil && err2 == nil && ast.Compare(x, y) == 0
}

// logged returns the answer in the log.
func (d *decision) logged() (a answer) {
	switch d.Outcome {
	case outcome.Failed:
		a.code = cmp.Or(d.Code, otherError)
	case outcome.Cancelled:
		a.code = topdown.CancelErr
	case outcome.Undefined:
	default:
		a.result = d.Result
	}
	return a
}

// outcomeOf returns the outcome of an answer.
func (w *worker) outcomeOf(d *decision, a *answer) outcome.Outcome {
	if a.code != "" {
		o, _ := verdicts.OfError(a.code, "")
		return o
	}
	if a.result == nil {
		return outcome.Undefined
	}
	result := util.MustUnmarshalJSON(a.result)
	if d.isQuery() {
		return verdicts.OfQuery(result)
	}
	return w.verdicts.Of(string(d.Path)).Outcome(result)
}

// changeOf returns the kind of a change.
func changeOf(from, to outcome.Outcome) string {
	if kind := from.String() + "-to-" + to.String(); isChange(kind) {
		return kind
	}
	return toOther
}

// isChange reports whether a kind is that of a change.
func isChange(kind string) bool { return kind == toDenied || kind == toAllowed || kind == toOther }

// Results counts decisions by how their results compare.
type Results struct {
	Decisions     uint64 `json:"decisions"`
	Equal         uint64 `json:"equal"`
	Changed       uint64 `json:"changed"`
	Apart         uint64 `json:"apart"`
	NotRepeatable uint64 `json:"not_repeatable"`
	// Kinds counts the changes by their kind, and the decisions apart or not
	// repeatable by the reason.
	Kinds    map[string]uint64 `json:"kinds,omitempty"`
	Examples []Example         `json:"examples,omitempty"` // sorted by kind

	examples map[string][]Example // by kind
	// of are the decisions of the log for which these stand: those of a verdict
	// or a kind, and all as "".
	of map[string]float64
}

// An Example is a decision that is not equal.
type Example struct {
	Kind  string       `json:"kind"`
	ID    string       `json:"decision_id"`
	Place report.Place `json:"place"`
	Input string       `json:"input,omitempty"` // JSON

	hash  uint64
	place func() report.Place
}

// add adds what became of a decision.
func (r *Results) add(d *decision, f finding) {
	if r.of == nil {
		r.Kinds, r.of, r.examples = map[string]uint64{}, map[string]float64{}, map[string][]Example{}
	}
	r.Decisions++
	*[...]*uint64{&r.Equal, &r.Changed, &r.Apart, &r.NotRepeatable}[f.verdict]++
	r.of[""] += d.of
	r.of[verdictNames[f.verdict]] += d.of
	if f.kind != "" {
		r.of[f.kind] += d.of
		r.Kinds[f.kind]++
	}
}

// example keeps an example if its hash is among the lowest of its kind.
func (r *Results) example(x Example) {
	all := slices.Concat(r.examples[x.Kind], []Example{x})
	slices.SortFunc(all, func(a, b Example) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ID, b.ID)) })
	r.examples[x.Kind] = all[:min(len(all), 10)]
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package verdicts tells the outcome of a decision by its result or its error.
package verdicts

import (
	"encoding/json"
	"fmt"
	"maps"
	pathpkg "path"
	"regexp"
	"slices"
	"strings"

	"github.com/regometer/regometer/outcome"
)

// Verdict says which results of a path allow and which deny. It is immutable.
//
// The usual verdict knows these results:
//
//   - a boolean
//   - an object with a boolean "allow" or, as in answers to Envoy, "allowed"; a
//     boolean "decision", as in AuthZEN; or a boolean "allowed" in "response",
//     as in an AdmissionReview of Kubernetes
//   - an object with "deny" or "violation", as of conftest and Gatekeeper. The
//     value can be a boolean. It can also be a list, an object or a string with
//     reasons, which deny if it is not empty.
//   - such a value itself, if the last segment of the path is "deny" or
//     "violation"
//
// A result is Denied if one of these denies. Otherwise it is Allowed if one of
// them allows. All other results are Neither.
type Verdict struct {
	fields []verdictField
	// otherwise judges what the fields leave open. It may be nil.
	otherwise *Verdict
}

// verdictField is a place in results.
type verdictField struct {
	names  []string // from the result inwards; none for the result itself
	negate bool     // the value denies
	equals string   // the string that allows, or "" for other types
}

var (
	// fieldsVerdict judges objects.
	fieldsVerdict = &Verdict{fields: []verdictField{
		{names: []string{"allow"}},
		{names: []string{"allowed"}},
		{names: []string{"decision"}},
		{names: []string{"response", "allowed"}},
		{names: []string{"deny"}, negate: true},
		{names: []string{"violation"}, negate: true},
	}}
	usualVerdict = &Verdict{fields: append([]verdictField{{}}, fieldsVerdict.fields...)}
	denyVerdict  = &Verdict{fields: fieldsVerdict.fields, otherwise: &Verdict{fields: []verdictField{{negate: true}}}}
)

// Outcome returns Allowed, Denied or Neither for the result of a decision
// without an error. A result has the types of encoding/json.
func (v *Verdict) Outcome(result any) outcome.Outcome {
	return v.Judge(func(names []string) any {
		value := result
		for _, name := range names {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		return value
	})
}

// Judge does what Outcome does for a result of any form. value returns the
// value in the result at the names of fields, from the outermost inwards, or
// nil if there is none. No names stand for the result itself.
func (v *Verdict) Judge(value func(names []string) any) outcome.Outcome {
	found := outcome.Neither
	for _, f := range v.fields {
		switch f.outcome(value(f.names)) {
		case outcome.Denied:
			return outcome.Denied
		case outcome.Allowed:
			found = outcome.Allowed
		}
	}
	if found == outcome.Neither && v.otherwise != nil {
		return v.otherwise.Judge(value)
	}
	return found
}

// outcome judges a value. Only where the value denies is a list, an object or a
// string true if it is not empty.
func (f *verdictField) outcome(value any) outcome.Outcome {
	yes, isBool := value.(bool)
	text, isText := value.(string)
	list, isList := value.([]any)
	object, isObject := value.(map[string]any)
	switch {
	case f.equals != "" && isText:
		yes = text == f.equals
	case f.equals == "" && isBool:
	case f.equals == "" && f.negate && (isText || isList || isObject):
		yes = len(text)+len(list)+len(object) > 0
	default:
		return outcome.Neither
	}
	if yes != f.negate {
		return outcome.Allowed
	}
	return outcome.Denied
}

// IsHiddenBy reports whether a mask policy hides the outcome if it removes or
// replaces the value at a path of an event, such as "/result/allow". The path
// is a JSON pointer (RFC 6901).
func (v *Verdict) IsHiddenBy(pointer string) bool {
	rest, ok := strings.CutPrefix(pointer, "/result")
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	names := NamesOf(rest)
	return len(names) == 0 || slices.ContainsFunc(v.fields, func(f verdictField) bool {
		return len(names) <= len(f.names) && slices.Equal(names, f.names[:len(names)])
	})
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// NamesOf returns the names of fields in a JSON pointer (RFC 6901), which is empty
// or begins with a slash.
func NamesOf(pointer string) []string {
	names := strings.Split(pointer, "/")[1:]
	for i := range names {
		names[i] = unescapePointer.Replace(names[i])
	}
	return names
}

// Set finds the verdict of a path. It is immutable. nil is ready to use.
type Set struct{ rules []rule }

type rule struct {
	path    string // a pattern of path.Match
	verdict *Verdict
}

// New returns verdicts with a rule for each key of the map, which is a
// path such as "app/main". In it, "*" stands for any text without a slash. A path
// goes before patterns. Of two patterns, the one whose first "*" comes later
// goes first. The rule is one of these:
//
//	result.granted            this field allows if it is true, and denies if it is false
//	not result.reasons        this field denies if it is true, or has reasons; an empty one allows
//	result.effect == "allow"  this string allows, and other strings deny
//	not result.effect == "deny"
//
// Instead of a field, the rule can use a field of a field, or the result
// itself. A result without the field is Neither. New fails if a
// path or a rule is invalid.
func New(rules map[string]string) (*Set, error) {
	v := new(Set)
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(rules))) {
		field, err := parseRule(rules[path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if strings.ContainsAny(path, `?[\`) || slices.Contains(strings.Split(path, "/"), "") {
			return nil, fmt.Errorf("%q: write a path such as app/main", path)
		}
		at := 0
		if strings.Contains(path, "*") {
			at = len(v.rules)
		}
		v.rules = slices.Insert(v.rules, at, rule{path, &Verdict{fields: []verdictField{field}}})
	}
	return v, nil
}

func parseRule(text string) (f verdictField, err error) {
	found := ruleForm.FindStringSubmatch(text)
	if found != nil && found[3] != "" {
		err = json.Unmarshal([]byte(found[3]), &f.equals)
	}
	if found == nil || err != nil || found[3] != "" && f.equals == "" {
		return f, fmt.Errorf("invalid rule %q: write result.FIELD for what allows, \"not \" before it for what denies, or == \"TEXT\" behind it for the text that allows", text)
	}
	f.negate, f.names = found[1] != "", strings.Split(found[2], ".")[1:]
	return f, nil
}

// ruleForm matches a rule: a negation, a field, and the text that it is compared
// with.
var ruleForm = regexp.MustCompile(`^\s*(not )?\s*(result(?:\.[^\s.="'\[\]()!&|]+)*)\s*(?:==(.+))?$`)

// Of returns the verdict of a path without a leading slash.
func (v *Set) Of(path string) *Verdict {
	if v != nil {
		for _, r := range v.rules {
			if ok, _ := pathpkg.Match(r.path, path); ok {
				return r.verdict
			}
		}
	}
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "deny", "violation":
		return denyVerdict
	}
	return usualVerdict
}

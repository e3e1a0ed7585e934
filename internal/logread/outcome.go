// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"

	"github.com/regometer/regometer/outcome"
)

// outcome returns the outcome of the decision by the rules of package outcome,
// and the code of its error. query says that the decision is an ad-hoc query.
func (p *parser) outcome(path []byte, query bool) (_ outcome.Outcome, code string) {
	p.hidden = false
	if p.has(fieldError) && !isEmpty(p.value(fieldError)) {
		return p.remembered(nil, p.value(fieldError))
	}
	if query {
		path = queryPath
	}
	v := p.judge.verdictOf(path)
	const hiding = 1<<fieldErased | 1<<fieldMasked
	if p.hidden = p.present&hiding != 0 && p.hides(v.IsHiddenBy); p.hidden {
		return outcome.OtherResult, ""
	}
	if !p.has(fieldResult) {
		return outcome.Undefined, ""
	}
	text := p.value(fieldResult)
	if p.metrics.quoted {
		text = jsonOf(fieldResult, text)
	}
	if text == nil || text[0] == 'n' {
		return outcome.Undefined, ""
	}
	if query && text[0] == '[' {
		return outcome.OfQuery(p.meaning(text)), ""
	}
	switch text[0] { // most results
	case 't':
		return v.ofTrue, ""
	case 'f':
		return v.ofFalse, ""
	}
	return p.remembered(v.Verdict, text)
}

// A log has many decisions with the same path, result or error. So the parser
// remembers what it has found for a text, at a place that the text's hash tells.
const (
	places      = 256
	longestText = 512 // in bytes
)

// judge remembers for all parsers of a reader.
type judge struct {
	verdicts   *outcome.Verdicts
	paths      [places]pathVerdict
	judgements [places]judgement
}

func placeOf(text []byte) uint64 { return maphash.Bytes(seed, text) % places }

// pathVerdict is the verdict of a path, and what it says of booleans.
type pathVerdict struct {
	path []byte
	*outcome.Verdict
	ofTrue, ofFalse outcome.Outcome
}

// verdictOf returns the verdict of a path, which is not empty. It is valid until
// the next call.
func (j *judge) verdictOf(path []byte) *pathVerdict {
	v := &j.paths[placeOf(path)]
	if !bytes.Equal(v.path, path) {
		v.path = append(v.path[:0], path...)
		if of := j.verdicts.Of(string(path)); of != v.Verdict {
			v.Verdict, v.ofTrue, v.ofFalse = of, of.Outcome(true), of.Outcome(false)
		}
	}
	return v
}

// judgement is the outcome of a result by a verdict, or that of an error.
type judgement struct {
	text    []byte
	verdict *outcome.Verdict // nil for an error
	outcome outcome.Outcome
	code    string
}

// remembered returns the outcome of a result by a verdict, or that of an error
// if the verdict is nil.
func (p *parser) remembered(verdict *outcome.Verdict, text []byte) (outcome.Outcome, string) {
	known := &p.judge.judgements[placeOf(text)]
	if known.verdict != verdict || !bytes.Equal(known.text, text) {
		var found judgement
		if verdict == nil {
			found.outcome, found.code = p.failure(text)
		} else {
			found.outcome = p.outcomeOf(verdict, text)
		}
		// A text that is not UTF-8 is a problem each time.
		if len(text) > longestText || slices.Contains(p.problems, InvalidUTF8) {
			return found.outcome, found.code
		}
		known.text, known.verdict = append(known.text[:0], text...), verdict
		known.outcome, known.code = found.outcome, found.code
	}
	return known.outcome, known.code
}

func (p *parser) outcomeOf(verdict *outcome.Verdict, text []byte) outcome.Outcome {
	needed := p.needed[:0]
	eachField(text, func(key, value []byte) {
		if name := p.nameOf(key); verdict.Needs(string(name)) {
			needed = append(needed, namedValue{name, value})
		}
	})
	p.needed = needed
	return verdict.Judge(func(names []string) any {
		if len(names) == 0 {
			return p.meaning(text)
		}
		var found []byte
		for _, n := range needed {
			if string(n.name) == names[0] {
				found = n.value
			}
		}
		for _, name := range names[1:] {
			found = p.fieldIn(found, name)
		}
		if found == nil {
			return nil
		}
		return p.meaning(found)
	})
}

// namedValue is a field of an object.
type namedValue struct{ name, value []byte }

// nameOf returns what a key in quotes means.
func (p *parser) nameOf(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	return p.unquote(key)
}

// fieldIn returns a field of an object, or nil if the text is not an object
// with the field.
func (p *parser) fieldIn(text []byte, name string) (found []byte) {
	eachField(text, func(key, value []byte) {
		if string(p.nameOf(key)) == name {
			found = value
		}
	})
	return found
}

// These values stand for all empty values of their type, and for all others.
var (
	emptyList, someList     any = []any{}, []any{nil}
	emptyObject, someObject any = map[string]any{}, map[string]any{"": nil}
)

// meaning returns a value that package outcome treats like the text.
func (p *parser) meaning(text []byte) any {
	empty := len(text) > 1 && skipSpace(text, 1) == len(text)-1
	switch text[0] {
	case 't':
		return true
	case 'f':
		return false
	case '"':
		s, _, _ := unquote(nil, text)
		return string(s)
	case '[':
		if empty {
			return emptyList
		}
		return someList
	case '{':
		if empty {
			return emptyObject
		}
		return someObject
	case 'n':
		return nil
	}
	return 0.0
}

// hides reports whether a mask policy has removed or replaced one of some
// values.
func (p *parser) hides(isOne func(pointer string) bool) (hides bool) {
	for _, f := range [...]field{fieldErased, fieldMasked} {
		eachElement(p.optional(f), func(path []byte) {
			hides = hides || path[0] == '"' && isOne(string(p.unquote(path)))
		})
	}
	return hides
}

// failure tells errors apart by their code, or by their message if they lack a
// code, as the plugin does. On the console, errors are strings. Of a list, the
// first error counts.
func (p *parser) failure(text []byte) (_ outcome.Outcome, code string) {
	for depth := 0; len(text) > 0 && text[0] == '[' && depth < 3; depth++ {
		text = text[skipSpace(text, 1):]
		text = text[:max(0, valueEnd(text, 0, true))]
	}
	message := p.textOf(text)
	code = codeOf(message)
	if hasPrefix(text, "{") {
		code, message = knownCode(p.textOf(p.fieldIn(text, "code"))), p.textOf(p.fieldIn(text, "message"))
	}
	if code == "" {
		return outcome.OfMessage(message), ""
	}
	failed := outcome.OfError(code)
	if failed != outcome.Error {
		code = ""
	}
	return failed, code
}

// isEmpty reports whether a store may have written an error for none: an empty
// text, or an object without any text.
func isEmpty(text []byte) bool {
	empty := text[0] == '{'
	eachField(text, func(_, value []byte) { empty = empty && (string(value) == `""` || value[0] == 'n') })
	return empty || string(text) == `""`
}

// textOf returns what a value means, or "" if it is not a string.
func (p *parser) textOf(value []byte) string {
	if !hasPrefix(value, `"`) {
		return ""
	}
	return string(p.unquote(value))
}

// codeOf returns the code of an error that is given as OPA prints it, or "":
//
//	eval_conflict_error: …
//	policy.rego:3: eval_conflict_error: …
//	1 error occurred: 3:5: rego_type_error: …
//	2 errors occurred:⏎policy.rego:3: rego_type_error: …
func codeOf(message string) string {
	found := printedCode.FindStringSubmatch(message)
	if found == nil || found[1] != "cancelled" && !strings.Contains(found[1], "_") {
		return ""
	}
	return found[1]
}

var printedCode = regexp.MustCompile(`^(?:\d+ (?:error occurred: |errors occurred:?\n))*(?:[^\n]*?:\d+: )?([a-z0-9_]{1,64})(?:: |\n|$)`)

// knownCode returns a code if it looks like one: small letters, digits and
// underscores, at most 64 of them.
func knownCode(s string) string {
	if len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return s
}

// eachField calls do with each key, in quotes, and value of a JSON object.
func eachField(text []byte, do func(key, value []byte)) {
	if len(text) == 0 || text[0] != '{' {
		return
	}
	for i := skipSpace(text, 1); i < len(text) && text[i] == '"'; {
		end := stringEnd(text, i)
		if end < 0 {
			return
		}
		key := text[i:end]
		if i = skipSpace(text, end); i >= len(text) || text[i] != ':' {
			return
		}
		i = skipSpace(text, i+1)
		if end = valueEnd(text, i, true); end < 0 {
			return
		}
		do(key, text[i:end])
		i = nextItem(text, end)
	}
}

// eachElement calls do with each value of a JSON array.
func eachElement(text []byte, do func(value []byte)) {
	if len(text) == 0 || text[0] != '[' {
		return
	}
	for i := skipSpace(text, 1); i < len(text) && text[i] != ']'; {
		end := valueEnd(text, i, true)
		if end < 0 {
			return
		}
		do(text[i:end])
		i = nextItem(text, end)
	}
}

// nextItem returns the index behind the comma that follows, or of the end.
func nextItem(text []byte, i int) int {
	if i = skipSpace(text, i); i < len(text) && text[i] == ',' {
		return skipSpace(text, i+1)
	}
	return len(text)
}

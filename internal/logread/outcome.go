// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"hash/maphash"
	"regexp"
	"strings"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
)

// outcome returns the outcome of the decision by the rules of package outcome,
// the code of its error, and whether a mask policy hides the outcome. query says
// that the decision is an ad-hoc query.
func (p *parser) outcome(path []byte, query bool) (o outcome.Outcome, code string, hidden bool) {
	if failure := p.optional(fieldError); failure != nil && !isEmpty(failure) {
		o, code = p.judged(nil, failure)
		return o, code, false
	}
	if query {
		path = queryPath
	}
	const hiding = 1<<fieldErased | 1<<fieldMasked
	if p.present&hiding != 0 && p.hides(p.judge.verdicts.Of(string(path)).IsHiddenBy) {
		return outcome.Neither, "", true
	}
	text := p.optional(fieldResult)
	if text != nil && p.metrics.quoted {
		text = jsonOf(fieldResult, text)
	}
	if text == nil && p.hasFlat {
		if o, _ = p.judged(path, []byte("[]")); o == outcome.Allowed { // the store may have left it out
			return outcome.Neither, "", true
		}
	}
	switch {
	case text == nil || text[0] == 'n':
		return outcome.Undefined, "", false
	case query && text[0] == '[':
		return verdicts.OfQuery(meaning(text)), "", false
	}
	o, _ = p.judged(path, text)
	return o, "", false
}

// A log has many decisions with the same path and result, or with the same
// error. So the parsers of a reader remember what they have found, at a place
// that a hash tells.
const (
	places      = 512
	longestText = 512 // in bytes
)

type judge struct {
	verdicts   *verdicts.Set
	judgements [places]judgement
}

// judgement is the outcome of a result on a path, or that of an error without
// one.
type judgement struct {
	path, text []byte
	outcome    outcome.Outcome
	code       string
}

// judged returns the outcome of a result on a path, or that of an error if the
// path is nil.
func (p *parser) judged(path, text []byte) (o outcome.Outcome, code string) {
	known := &p.judge.judgements[(maphash.Bytes(seed, path)+maphash.Bytes(seed, text))%places]
	if bytes.Equal(known.text, text) && bytes.Equal(known.path, path) {
		return known.outcome, known.code
	}
	if path == nil {
		o, code = failure(text)
	} else {
		o = outcomeOf(p.judge.verdicts.Of(string(path)), text)
	}
	if len(path)+len(text) <= longestText {
		*known = judgement{append(known.path[:0], path...), append(known.text[:0], text...), o, code}
	}
	return o, code
}

func outcomeOf(verdict *verdicts.Verdict, text []byte) outcome.Outcome {
	isPlain := bytes.IndexByte(text, '\\') < 0
	return verdict.Judge(func(names []string) any {
		if isPlain && len(names) > 0 && !bytes.Contains(text, []byte(names[0])) { // most often
			return nil
		}
		return meaning(Field(text, names...))
	})
}

// someList stands for all lists and objects that are not empty.
var someList any = []any{nil}

// meaning returns a value that package verdicts treats like the text.
func meaning(text []byte) any {
	switch {
	case len(text) == 0:
		return nil
	case text[0] == '"':
		return string(Meaning(text))
	case text[0] == 't', text[0] == 'f':
		return text[0] == 't'
	case text[0] != '[' && text[0] != '{':
		return nil
	case skipSpace(text, 1) == len(text)-1:
		return []any{}
	}
	return someList
}

// hides reports whether a mask policy has removed or replaced one of some
// values.
func (p *parser) hides(isOne func(pointer string) bool) (hides bool) {
	for _, f := range [...]field{fieldErased, fieldMasked} {
		EachElement(p.optional(f), func(path []byte) {
			hides = hides || path[0] == '"' && isOne(string(Meaning(path)))
		})
	}
	return hides
}

// failure tells errors apart by their code, or by their message if they lack a
// code, as the plugin does. On the console, errors are strings. Of a list, the
// first error counts.
func failure(text []byte) (_ outcome.Outcome, code string) {
	for depth := 0; hasPrefix(text, "[") && depth < 3; depth++ {
		text = fieldIn(text, "0")
	}
	message := textOf(text)
	code = codeOf(string(message))
	if hasPrefix(text, "{") {
		code, message = string(knownCode.Find(textOf(fieldIn(text, "code")))), textOf(fieldIn(text, "message"))
	}
	return verdicts.OfError(code, string(message))
}

// isEmpty reports whether a store may have written an error for none: an empty
// text, or an object without any text.
func isEmpty(text []byte) bool {
	empty := text[0] == '{'
	eachField(text, func(_, value []byte) { empty = empty && (string(value) == `""` || value[0] == 'n') })
	return empty || string(text) == `""`
}

// textOf returns what a value means, or nil if it is not a string.
func textOf(value []byte) []byte {
	if !hasPrefix(value, `"`) {
		return nil
	}
	return Meaning(value)
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

// knownCode matches what looks like a code.
var knownCode = regexp.MustCompile(`^[a-z0-9_]{0,64}$`)

// eachField calls do with each key, in quotes, and value of a JSON object.
func eachField(text []byte, do func(key, value []byte)) {
	if hasPrefix(text, "{") {
		each(text, do)
	}
}

// EachElement calls do with each value of a JSON list, as it is in the text.
func EachElement(text []byte, do func(value []byte)) {
	if hasPrefix(text, "[") {
		each(text, func(_, value []byte) { do(value) })
	}
}

// each calls do with what is in an object or a list.
func each(text []byte, do func(key, value []byte)) {
	for i, more := 0, true; more; more = i < len(text) && text[i] == ',' {
		var key []byte
		if i = skipSpace(text, i+1); text[0] == '{' {
			end, colon := keyEnd(text, i)
			if end < 0 {
				return
			}
			key, i = text[i:end], skipSpace(text, colon)
		}
		end := valueEnd(text, i, false)
		if end < 0 {
			return
		}
		do(key, text[i:end])
		i = skipSpace(text, end)
	}
}

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

var seed = maphash.MakeSeed()

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

// of returns the outcome of a result on a path, or that of an error if the path
// is nil.
func (j *judge) of(path, text []byte) (o outcome.Outcome, code string) {
	known := &j.judgements[(maphash.Bytes(seed, path)+maphash.Bytes(seed, text))%places]
	if bytes.Equal(known.text, text) && bytes.Equal(known.path, path) {
		return known.outcome, known.code
	}
	if path == nil {
		o, code = failure(text)
	} else {
		o = outcomeOf(j.verdicts.Of(string(path)), text)
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

// failure tells errors apart by their code, or by their message if they lack a
// code, as the plugin does. On the console, errors are strings. Of a list, the
// first error counts.
func failure(text []byte) (_ outcome.Outcome, code string) {
	for depth := 0; hasPrefix(text, "[") && depth < 3; depth++ {
		text = Field(text, "0")
	}
	message := textOf(text)
	code = codeOf(string(message))
	if hasPrefix(text, "{") {
		code, message = string(knownCode.Find(textOf(Field(text, "code")))), textOf(Field(text, "message"))
	}
	return verdicts.OfError(code, string(message))
}

// isEmpty reports whether a store may have written an error for none: an empty
// text, or an object without any text.
func isEmpty(text []byte) bool {
	empty := text[0] == '{'
	each(text, func(_, value []byte) { empty = empty && (string(value) == `""` || value[0] == 'n') })
	return empty || string(text) == `""`
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

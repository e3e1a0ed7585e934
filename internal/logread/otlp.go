// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
)

// OTLP writes an object as a list of keys and values, which name their type:
// [{"key":"path","value":{"stringValue":"p"}}]. CloudWatch writes the row of a
// query as [{"field":"path","value":"p"}].

// pairs matches what may be a list of pairs, by its beginning.
var pairs = regexp.MustCompile(`^\[\s*\{\s*"(?:key|field)"`)

// objectIn returns the object that a value stands for if it is a list of pairs,
// and other values as they are.
func objectIn(value []byte) []byte { return plain(value, 30) }

// plain returns what a list of pairs or a value of OTLP stands for, down to some
// levels, since each level is read again for each of those around it.
func plain(value []byte, levels int) []byte {
	if !pairs.Match(value[:min(len(value), 100)]) {
		return value
	}
	object, isWhole := []byte{'{'}, true
	EachElement(value, func(pair []byte) {
		key, inner := Field(pair, "key"), Field(pair, "value")
		if key == nil {
			key = Field(pair, "field")
		}
		isWhole = isWhole && hasPrefix(key, `"`) && inner != nil
		object = append(append(append(append(object, key...), ':'), typed(inner, levels)...), ',')
	})
	if !isWhole {
		return value
	}
	return append(bytes.TrimSuffix(object, []byte{','}), '}')
}

// typed returns what a value that names its type stands for.
func typed(value []byte, levels int) (meaning []byte) {
	if meaning = value; levels == 0 || string(value) == "{}" {
		return []byte("null")
	}
	each(value, func(kind, inner []byte) {
		switch string(kind) {
		case `"kvlistValue"`:
			if meaning = plain(Field(inner, "values"), levels-1); !hasPrefix(meaning, "{") {
				meaning = []byte("{}")
			}
		case `"arrayValue"`:
			meaning = []byte{'['}
			EachElement(Field(inner, "values"), func(e []byte) { meaning = append(append(meaning, typed(e, levels-1)...), ',') })
			meaning = append(bytes.TrimSuffix(meaning, []byte{','}), ']')
		case `"intValue"`: // it may be a string
			meaning = bytes.Trim(inner, `"`)
		case `"stringValue"`, `"boolValue"`, `"doubleValue"`, `"bytesValue"`:
			meaning = inner
		}
	})
	return meaning
}

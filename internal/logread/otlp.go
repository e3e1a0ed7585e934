// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// OTLP writes an object as a list of keys and values, which name their type:
// [{"key":"path","value":{"stringValue":"p"}}]. CloudWatch writes the row of a
// query as [{"field":"path","value":"p"}].

// isPairs reports whether a list may be a list of pairs. It looks only at the
// beginning.
func isPairs(list []byte) bool {
	i := skipSpace(list, 1)
	if list[i] != '{' {
		return false
	}
	first := list[skipSpace(list, i+1):]
	return hasPrefix(first, `"key"`) || hasPrefix(first, `"field"`)
}

// objectIn returns the object that a value stands for if it is a list of pairs,
// and other values as they are.
func objectIn(value []byte) []byte {
	if !hasPrefix(value, "[") || !isPairs(value) {
		return value
	}
	var list any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return value
	}
	if object, ok := plain(list).(map[string]any); ok {
		if text, err := json.Marshal(object); err == nil {
			return text
		}
	}
	return value
}

// plain returns what a list of pairs or a value of OTLP stands for.
func plain(value any) any {
	switch v := value.(type) {
	case []any:
		object := map[string]any{}
		for _, e := range v {
			pair, _ := e.(map[string]any)
			key, isKey := cmp.Or(pair["key"], pair["field"]).(string)
			inner, isPair := pair["value"]
			if !isKey || !isPair {
				return value
			}
			object[key] = plain(inner)
		}
		return object
	case map[string]any:
		if list, ok := v["kvlistValue"].(map[string]any); ok {
			return plain(list["values"])
		} else if list, ok := v["arrayValue"].(map[string]any); ok {
			elements, _ := list["values"].([]any)
			for i, e := range elements {
				elements[i] = plain(e)
			}
			return elements
		} else if n := v["intValue"]; n != nil { // it may be a string
			return json.Number(fmt.Sprint(n))
		}
		return cmp.Or(v["stringValue"], v["boolValue"], v["doubleValue"], v["bytesValue"])
	}
	return value
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package util

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendJSON appends the JSON of a value, as json.Marshal writes it. It does not
// allocate for each key and value of a map.
func AppendJSON(b []byte, value any) ([]byte, error) { return appendJSON(b, value, 0) }

// maxDepth is that from which encoding/json looks for cycles.
const maxDepth = 1000

func appendJSON(b []byte, value any, depth int) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case string:
		return AppendJSONString(b, v), nil
	case map[string]string:
		if v != nil {
			return appendMap(b, v, func(b []byte, v string) ([]byte, error) { return AppendJSONString(b, v), nil })
		}
	case map[string]any:
		if v != nil && depth < maxDepth {
			return appendMap(b, v, func(b []byte, v any) ([]byte, error) { return appendJSON(b, v, depth+1) })
		}
	case []any:
		if v != nil && depth < maxDepth {
			b = append(b, '[')
			for i := range v {
				if i > 0 {
					b = append(b, ',')
				}
				var err error
				if b, err = appendJSON(b, v[i], depth+1); err != nil {
					return nil, err
				}
			}
			return append(b, ']'), nil
		}
	}
	text, err := json.Marshal(value)
	return append(b, text...), err
}

func appendMap[V any](b []byte, m map[string]V, appendValue func([]byte, V) ([]byte, error)) ([]byte, error) {
	keys := make([]string, 0, 16) // on the stack
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)

	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(append(AppendJSONString(b, key), ':'), m[key]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// AppendJSONString appends the JSON of a text, as json.Marshal writes it.
func AppendJSONString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || strings.IndexByte(`"\<>&`, c) >= 0 {
			text, _ := json.Marshal(s) // a text has JSON
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

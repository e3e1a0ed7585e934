// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import "bytes"

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
	if hasPrefix(value, "[") && isPairs(value) {
		if object := objectOf(value, maxLevels); object != nil {
			return object
		}
	}
	return value
}

// objectOf returns the object that a list of pairs stands for, or nil for any
// other list. Values that are nested too deep are null.
func objectOf(list []byte, levels int) []byte {
	object, ok := []byte{'{'}, true
	EachElement(list, func(pair []byte) {
		key, value := fieldIn(pair, "key"), fieldIn(pair, "value")
		if key == nil {
			key = fieldIn(pair, "field")
		}
		if ok = ok && len(key) > 1 && key[0] == '"' && value != nil; !ok {
			return
		}
		object = append(append(object, key...), ':')
		if value[0] == '{' {
			object = appendOTLP(object, value, levels)
		} else {
			object = append(object, value...)
		}
		object = append(object, ',')
	})
	if !ok {
		return nil
	}
	return append(bytes.TrimSuffix(object, []byte{','}), '}')
}

// appendOTLP appends the JSON value that a value of OTLP stands for.
func appendOTLP(dst, value []byte, levels int) []byte {
	start := len(dst)
	eachField(value, func(kind, v []byte) {
		list := fieldIn(v, "values")
		switch {
		case levels == 0:
		case string(kind) == `"kvlistValue"`:
			dst = append(dst, objectOf(list, levels-1)...)
		case string(kind) == `"arrayValue"`:
			dst = append(dst, '[')
			EachElement(list, func(e []byte) { dst = append(appendOTLP(dst, e, levels-1), ',') })
			dst = append(bytes.TrimSuffix(dst, []byte{','}), ']')
		case string(kind) == `"intValue"`: // it may be a string
			dst = append(dst, bytes.Trim(v, `"`)...)
		default:
			dst = append(dst, v...)
		}
	})
	if len(dst) == start {
		dst = append(dst, "null"...)
	}
	return dst
}

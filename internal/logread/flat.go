// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Many stores flatten an event: {"metrics.timer_a_ns":1,"labels_id":"x"}, also
// below a name, as in "opa.decision_id". Or they have the JSON of an object in a
// string, as a column of a table. The reader builds the event again.

// parse reads the object that text begins with, and returns the index behind
// it. It returns -1 if the object is broken or does not end in its line. A value
// that the parser skips may be broken all the same. The object must be much
// shorter than 2 GiB: see span.
func (p *parser) parse(text []byte) (end int) {
	end = p.parseMembers(text)
	isOdd := func(f field) bool { return p.begins(f, '"') || p.begins(f, '[') }
	p.hasFlat = p.seen>>fieldFlat&1 != 0
	if p.flattened = end > 0 && (p.hasFlat || isOdd(fieldMetrics) || isOdd(fieldLabels)); p.flattened {
		p.nested = p.appendNested(p.nested[:0], text[:end])
		p.parseMembers(p.nested)
	}
	return end
}

// appendNested appends the event that a flattened object stands for, which p has
// parsed. Its fields go before flattened members.
func (p *parser) appendNested(dst, object []byte) []byte {
	var outer []byte
	hasMetrics, hasLists := false, p.begins(fieldDecisionID, '[')
	each(object, func(key, _ []byte) {
		name := key[1 : len(key)-1]
		if o := outerOf(name); o != nil && outer == nil {
			outer = o
		}
		head, _ := headOf(name, false)
		hasMetrics = hasMetrics || head == 0
	})
	var inner []byte
	var members [len(heads)][]byte
	dst = append(dst, '{')
	each(object, func(key, value []byte) {
		name, isList := bytes.CutSuffix(key[1:len(key)-1], []byte("{}"))
		if isList && value[0] != '[' { // Splunk writes a list of one as its element
			value = slices.Concat([]byte{'['}, value, []byte{']'})
		} else if hasLists {
			value = onlyElement(name, value)
		}
		if rest, ok := bytes.CutPrefix(name, outer); ok && outer != nil {
			inner = appendMember(inner, rest, value)
			return
		}
		head, rest := headOf(name, hasMetrics)
		if head < 0 || p.has(heads[head].field) {
			dst = appendMember(dst, name, objectIn(jsonOf(fieldOf(name), value)))
			return
		}
		if string(value) == `""` || string(value) == "null" { // a cell without a value
			return
		}
		m := &members[head]
		switch heads[head].field {
		case fieldResult:
			*m = appendMember(*m, rest, jsonOf(fieldResult, value))
		case fieldBundles: // whose names may have a point
			if at := bytes.LastIndexAny(rest, "._"); at > 0 {
				*m = appendMember(*m, rest[:at], slices.Concat([]byte(`{"`), rest[at+1:], []byte(`":`), value, []byte(`}`)))
			}
		default:
			*m = appendMember(*m, rest, value)
		}
	})
	for i, m := range members {
		if heads[i].field == fieldResult {
			m = nest(m)
		}
		if m != nil {
			dst = appendObject(dst, []byte(heads[i].name), m)
		}
	}
	if inner != nil {
		dst = appendObject(dst, bytes.TrimRight(outer, separators), inner)
	}
	return append(bytes.TrimSuffix(dst, []byte{','}), '}')
}

// onlyElement returns the element of a list of one, as which Elasticsearch's
// "fields" have each value. A result of one text more likely was a list, and the
// pointers of a mask policy are one.
func onlyElement(name, value []byte) []byte {
	first, f := Field(value, "0"), fieldOf(name)
	isList := value[0] != '[' || first == nil || Field(value, "1") != nil
	if isList || f == fieldErased || f == fieldMasked || first[0] == '"' && bytes.HasPrefix(name, []byte("result")) {
		return value
	}
	return first
}

// appendMember appends a member of an object, and a comma.
func appendMember(dst, name, value []byte) []byte {
	if value == nil {
		return dst
	}
	return append(append(append(append(append(dst, '"'), name...), '"', ':'), value...), ',')
}

// appendObject appends a member that is an object with members.
func appendObject(dst, name, members []byte) []byte {
	return appendMember(dst, name, slices.Concat([]byte{'{'}, bytes.TrimSuffix(members, []byte{','}), []byte{'}'}))
}

// nest puts members with the same name before a point, as in response.allowed,
// into an object.
func nest(members []byte) (nested []byte) {
	objects := map[string][]byte{}
	each(slices.Concat([]byte{'{'}, members), func(key, value []byte) {
		if outer, name, isFlat := bytes.Cut(key[1:len(key)-1], []byte{'.'}); isFlat {
			objects[string(outer)] = appendMember(objects[string(outer)], name, value)
		} else {
			nested = appendMember(nested, outer, value)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		nested = appendObject(nested, []byte(name), nest(objects[name]))
	}
	return nested
}

// jsonOf returns the value of a field in a flattened event. The JSON of what is
// no text may be in a string. nil stands for a field that is missing.
func jsonOf(f field, value []byte) []byte {
	switch {
	case f < fieldData && string(value) == `""`:
		return nil
	case f < fieldResult || f >= fieldData && f != fieldCustom || value[0] != '"':
		return value
	}
	if text, _ := unquote(value); json.Valid(text) && text[0] != '"' {
		joinLines(text)
		return bytes.TrimSpace(text)
	}
	return value
}

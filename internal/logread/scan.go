// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
)

// status is the result of reading a JSON value.
type status uint8

const (
	done   status = iota
	more          // the text ends within the value
	broken        // it is invalid JSON
)

// scanner finds the end of a JSON value, whose text may come in parts. It
// checks the grammar, except inside strings.
type scanner struct {
	pos  int    // the index up to which the text is scanned
	ends []byte // the closing brackets that must come, the innermost last
	last byte   // an opening bracket, a colon or a comma, if it was last; else isKey or isValue, or 0 at the beginning
}

const (
	isKey   = 'k'
	isValue = 'v'
)

// scan goes on at pos. The text begins with the value, and includes the text of
// earlier calls. If the value is done, pos is behind it.
func (s *scanner) scan(text []byte) status {
	for {
		if s.pos = skipSpace(text, s.pos); s.pos == len(text) {
			return more
		}
		c, end, closing := text[s.pos], s.pos+1, byte(0)
		if n := len(s.ends); n > 0 {
			closing = s.ends[n-1]
		}
		begins := s.last == 0 || s.last == '{' || s.last == '[' || s.last == ','
		wantsKey := begins && closing == '}'
		wantsValue := s.last == ':' || begins && !wantsKey
		last := byte(isValue)
		switch {
		case c == ':' && s.last == isKey, c == ',' && s.last == isValue:
			last = c
		case c == closing && (s.last == isValue || s.last == c-2): // '{' and '[' come two before
			s.ends = s.ends[:len(s.ends)-1]
		case (c == '{' || c == '[') && wantsValue:
			s.ends, last = append(s.ends, c+2), c
		case c == '"' && (wantsKey || wantsValue):
			if end, _ = stringEnd(text, s.pos); end < 0 && lineEnd(text, s.pos) < len(text) {
				return broken
			} else if end < 0 {
				return more
			}
			if wantsKey {
				last = isKey
			}
		case wantsValue:
			if end = scalarEnd(text, s.pos); end == len(text) && closing != 0 {
				return more
			} else if !isScalar(text[s.pos:end]) {
				return broken
			}
		default:
			return broken
		}
		if s.pos, s.last = end, last; len(s.ends) == 0 {
			return done
		}
	}
}

// isWhole reports whether the text is a JSON object or array that begins with a
// bracket.
func isWhole(text []byte, bracket byte) bool {
	var s scanner
	return len(text) > 0 && text[0] == bracket && s.scan(text) == done && skipSpace(text, s.pos) == len(text)
}

// skipSpace returns the index of the next byte that is not white space.
func skipSpace(text []byte, i int) int {
	for i < len(text) && (isBlank(text[i]) || text[i] == '\n') {
		i++
	}
	return i
}

// skipBlanks is skipSpace in a line.
func skipBlanks(text []byte, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// skipBlank returns the index of the next byte that is neither white space nor
// the end of a line. White space includes the zeros of a log that was truncated
// while it was written, the byte order mark, and the separators of a JSON text
// sequence (RFC 7464).
func skipBlank(text []byte, i int) int {
	for ; i < len(text); i++ {
		if c := text[i]; c == 0xef && hasPrefix(text[i:], "\ufeff") {
			i += len("\ufeff") - 1
		} else if !isBlank(c) && c != 0 && c != 0x1e {
			break
		}
	}
	return i
}

func isBlank(c byte) bool { return c <= ' ' && (c == ' ' || c == '\t' || c == '\r') }

// lineEnd returns the index of the next newline from i on, or len(text).
func lineEnd(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// joinLines puts a JSON value on one line.
func joinLines(value []byte) {
	for i := lineEnd(value, 0); i < len(value); i = lineEnd(value, i) {
		value[i] = ' '
	}
}

// stringEnd returns the index behind the string that begins at i, or -1 if it
// does not end in its line. It also reports whether the string has only printable
// ASCII without a backslash, as most strings.
func stringEnd(text []byte, i int) (end int, plain bool) {
	plain = true
	for i++; i < len(text); i++ {
		if len(text)-i >= 8 {
			word := binary.LittleEndian.Uint64(text[i:])
			found := hasByte(word, '"') | hasByte(word, '\\')
			if plain {
				found |= (word | (word - 0x20*ones)) & (0x80 * ones)
			} else {
				found |= hasByte(word, '\n')
			}
			if found == 0 {
				i += 7
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\n':
			return -1, false
		case c == '\\':
			plain = false
			if i++; i < len(text) && text[i] == '\n' {
				return -1, false
			}
		default:
			plain = plain && c >= ' ' && c < 0x80
		}
	}
	return -1, false
}

// ones has a one in each byte.
const ones = 0x0101010101010101

// hasByte returns a word with a bit in each byte of word that is c. Only the
// lowest of these bits is certain.
func hasByte(word uint64, c byte) uint64 {
	x := word ^ ones*uint64(c)
	return (x - ones) &^ x & (0x80 * ones)
}

// scalarEnd returns the index behind the number, true, false or null at i.
func scalarEnd(text []byte, i int) int {
	if n := bytes.IndexAny(text[i:], ",}] \n\t\r:\"{["); n >= 0 {
		return i + n
	}
	return len(text)
}

func isScalar(text []byte) bool {
	switch string(text) {
	case "true", "false", "null":
		return true
	}
	if len(text) == 0 || text[0] != '-' && !isDigit(text[0]) || text[len(text)-1] <= ' ' { // which json.Valid allows
		return false
	}
	_, end := digits(text, 0)
	return end == len(text) && text[0] != '0' || json.Valid(text)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digits returns the number that begins at i, of at most 16 digits, and the
// index behind it.
func digits(text []byte, i int) (value int64, end int) {
	for end = i; end < len(text) && isDigit(text[end]) && end < i+16; end++ {
		value = value*10 + int64(text[end]-'0')
	}
	return value, end
}

// nestedEnd returns the index behind the object or array at i, or -1 if it does
// not end in its line. Inside, it looks only at strings and at brackets of the
// same kind.
func nestedEnd(text []byte, i int) int {
	opening, depth := text[i], 0
	for i < len(text) {
		switch c := text[i]; {
		case c == '"':
			if i, _ = stringEnd(text, i); i < 0 {
				return -1
			}
			continue
		case c == opening:
			depth++
		case c == opening+2:
			if depth--; depth == 0 {
				return i + 1
			}
		case c == '\n':
			return -1
		}
		i++
	}
	return -1
}

// valueEnd returns the index behind the value at i, or -1 if the value does not
// end in its line, or if it is a scalar that is not valid and strict is true.
func valueEnd(text []byte, i int, strict bool) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		end, _ := stringEnd(text, i)
		return end
	case '{', '[':
		if hasBlocks {
			if end := nestedBlocks(&text[0], i, cap(text)); end > 0 && end <= len(text) {
				return end
			}
		}
		return nestedEnd(text, i)
	}
	end := scalarEnd(text, i)
	if strict && !isScalar(text[i:end]) || end == i {
		return -1
	}
	return end
}

// keyEnd returns the indexes behind the key at i and behind its colon, or -1.
func keyEnd(text []byte, i int) (end, colon int) {
	if i < len(text) && text[i] == '"' {
		end, _ = stringEnd(text, i)
		if colon = skipBlanks(text, max(end, i)); end > 0 && colon < len(text) && text[colon] == ':' {
			return end, colon + 1
		}
	}
	return -1, -1
}

// Field returns the value at the names of members of JSON objects, or at the
// indexes of elements of lists, from the outside inwards, as it is in the text,
// or nil.
func Field(text []byte, names ...string) (value []byte) {
	value = text
	for _, name := range names {
		text, value = value, nil
		i := 0
		each(text, func(key, v []byte) {
			if key != nil && string(Meaning(key)) == name || key == nil && strconv.Itoa(i) == name {
				value = v
			}
			i++
		})
	}
	return value
}

// EachElement calls do with each value of a JSON list, as it is in the text. It
// returns what is behind the last one, which is a bracket if the list is whole.
func EachElement(text []byte, do func(value []byte)) (rest []byte) {
	if !hasPrefix(text, "[") {
		return nil
	}
	return each(text, func(_, value []byte) { do(value) })
}

// each calls do with each key, in quotes, and value of a JSON object, or with each
// value of a list. It returns the rest, behind the last one.
func each(text []byte, do func(key, value []byte)) (rest []byte) {
	if !hasPrefix(text, "{") && !hasPrefix(text, "[") {
		return nil
	}
	i := 0
	for more := true; more; more = i < len(text) && text[i] == ',' {
		var key []byte
		if i = skipSpace(text, i+1); text[0] == '{' {
			end, colon := keyEnd(text, i)
			if end < 0 {
				return text[i:]
			}
			key, i = text[i:end], skipSpace(text, colon)
		}
		end := valueEnd(text, i, false)
		if end < 0 {
			return text[i:]
		}
		do(key, text[i:end])
		i = skipSpace(text, end)
	}
	return text[i:]
}

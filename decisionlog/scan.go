// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// MaxDepth is how deep the JSON of an event may be nested.
const MaxDepth = 10_000

// status says how the reading of a JSON value went.
type status uint8

const (
	done   status = iota
	more          // the text ends within the value
	broken        // it is no JSON
	deep          // it is nested deeper than MaxDepth
)

// wants is what a scanner expects next.
type wants uint8

const (
	wantsValue wants = iota
	wantsValueOrEnd
	wantsKey
	wantsKeyOrEnd
	wantsColon
	wantsNext // a comma or the end
)

// scanner finds the end of a JSON value, and may be given the text in parts. It
// checks the grammar, but not what is inside strings.
type scanner struct {
	pos   int // what is before it is dealt with
	wants wants
	ends  []byte // the brackets that are still to come, the innermost last
}

func (s *scanner) reset() { *s = scanner{ends: s.ends[:0]} }

// scan goes on at pos. The text begins with the value, and has what the scanner
// was given before. If the value is done, pos is behind it.
func (s *scanner) scan(text []byte) status {
	for {
		s.pos = skipSpace(text, s.pos)
		if s.pos == len(text) {
			return more
		}
		c := text[s.pos]
		if n := len(s.ends); n > 0 && c == s.ends[n-1] && (s.wants == wantsNext || s.wants == wantsKeyOrEnd || s.wants == wantsValueOrEnd) {
			s.ends = s.ends[:n-1]
			s.pos++
			s.wants = wantsNext
			if n == 1 {
				return done
			}
			continue
		}
		st := done
		switch s.wants {
		case wantsColon:
			if c != ':' {
				return broken
			}
			s.pos++
			s.wants = wantsValue
		case wantsNext:
			if c != ',' {
				return broken
			}
			s.pos++
			s.wants = wantsValue
			if s.ends[len(s.ends)-1] == '}' {
				s.wants = wantsKey
			}
		case wantsKey, wantsKeyOrEnd:
			if c != '"' {
				return broken
			}
			st = s.string(text)
			s.wants = wantsColon
			if st != done {
				s.wants = wantsKey
			}
		default:
			st = s.value(text, c)
		}
		if st != done {
			return st
		}
		if len(s.ends) == 0 {
			return done
		}
	}
}

// value reads a string or a scalar, or the start of an object or array.
func (s *scanner) value(text []byte, c byte) status {
	switch c {
	case '{', '[':
		if len(s.ends) == MaxDepth {
			return deep
		}
		s.ends = append(s.ends, c+2) // '}' and ']' come two behind
		s.pos++
		s.wants = wantsKeyOrEnd
		if c == '[' {
			s.wants = wantsValueOrEnd
		}
		return done
	case '"':
		if st := s.string(text); st != done {
			return st
		}
	default:
		end := scalarEnd(text, s.pos)
		if end == len(text) && len(s.ends) > 0 {
			return more
		}
		if !isScalar(text[s.pos:end]) {
			return broken
		}
		s.pos = end
	}
	s.wants = wantsNext
	return done
}

func (s *scanner) string(text []byte) status {
	end := stringEnd(text, s.pos)
	rest := text[s.pos:]
	if end >= 0 {
		rest = text[s.pos:end]
	}
	if bytes.IndexByte(rest, '\n') >= 0 {
		return broken
	}
	if end < 0 {
		return more
	}
	s.pos = end
	return done
}

// skipSpace returns the index of the next byte that is no white space.
func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index behind the string that begins at i, or -1.
func stringEnd(text []byte, i int) int {
	i++
	n := bytes.IndexByte(text[i:], '"')
	if n < 0 {
		return -1
	}
	if text[i+n-1] != '\\' {
		return i + n + 1
	}
	// Where one quote is escaped, as in a string that is JSON itself, many are.
	for i < len(text) {
		if len(text)-i >= 8 {
			word := binary.LittleEndian.Uint64(text[i:])
			found := hasByte(word, '"') | hasByte(word, '\\')
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		}
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
	return -1
}

// hasByte returns a bit in each byte of word that is c. The lowest one is
// right, others need not be.
func hasByte(word uint64, c byte) uint64 {
	x := word ^ 0x0101010101010101*uint64(c)
	return (x - 0x0101010101010101) &^ x & 0x8080808080808080
}

// scalarEnd returns the index behind the number, true, false or null at i.
func scalarEnd(text []byte, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r', ':', '"', '{', '[':
			return i
		}
	}
	return i
}

func isScalar(text []byte) bool {
	switch string(text) {
	case "true", "false", "null":
		return true
	}
	if len(text) == 0 || text[0] != '-' && !isDigit(text[0]) {
		return false
	}
	digits := 0
	for digits < len(text) && isDigit(text[digits]) {
		digits++
	}
	return digits == len(text) && (text[0] != '0' || digits == 1) || json.Valid(text)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// nestedEnd returns the index behind the object or array at i, or -1. Of what
// is inside it looks at strings and at brackets of the same kind alone.
//
// It goes from one closing bracket to the next. Most often, none of the bytes
// between is a backslash: then a bracket is in a string if the number of quotes
// before it is odd. Bytes can be searched and counted much faster than strings
// can be skipped one by one.
func nestedEnd(text []byte, i int) int {
	opening, closing := text[i], text[i]+2
	depth := 1
	slash := i // no backslash is before it from i on
	for i++; ; {
		n := bytes.IndexByte(text[i:], closing)
		if n < 0 {
			return -1
		}
		if slash < i {
			if slash = bytes.IndexByte(text[i:], '\\'); slash < 0 {
				slash = len(text)
			} else {
				slash += i
			}
		}
		between := text[i : i+n]
		opened, plain := 0, slash >= i+n
		if plain {
			opened, plain = countOpened(between, opening)
		}
		if !plain {
			if i, depth = nestedSlowly(text, i, i+n, opening, depth); depth == 0 || i < 0 {
				return i
			}
			continue
		}
		i += n + 1
		if depth += opened - 1; depth == 0 {
			return i
		}
	}
}

// countOpened counts the brackets in text, which begins outside of strings and
// has no backslash. ok is false if one of them, or the end, is in a string.
func countOpened(text []byte, opening byte) (opened int, ok bool) {
	quotes := 0
	for {
		n := bytes.IndexByte(text, opening)
		if n < 0 {
			return opened, (quotes+bytes.Count(text, quote))%2 == 0
		}
		if quotes += bytes.Count(text[:n], quote); quotes%2 != 0 {
			return 0, false
		}
		opened++
		text = text[n+1:]
	}
}

var quote = []byte{'"'}

// nestedSlowly goes on to behind last, or to where depth is 0, and returns
// where that is, outside of strings, or -1, and the depth.
func nestedSlowly(text []byte, i, last int, opening byte, depth int) (int, int) {
	for i <= last {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i); i < 0 {
				return -1, depth
			}
			continue
		case opening:
			depth++
		case opening + 2:
			if depth--; depth == 0 {
				return i + 1, 0
			}
		}
		i++
	}
	return i, depth
}

// valueEnd returns the index behind the value at i, or -1 if it does not end or
// is none. If no scanner has checked the text before, it is -1 also of what may
// be nested too deep.
func valueEnd(text []byte, i int, checked bool) int {
	if checked {
		return looseEnd(text, i)
	}
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		end := nestedEnd(text, i)
		if end-i > MaxDepth && bytes.Count(text[i:end], []byte{'['})+bytes.Count(text[i:end], []byte{'{'}) >= MaxDepth {
			return -1
		}
		return end
	}
	end := scalarEnd(text, i)
	if !isScalar(text[i:end]) {
		return -1
	}
	return end
}

// looseEnd returns the index behind the value at i, of text whose grammar was
// looked at before; -1 if there is none.
func looseEnd(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return nestedEnd(text, i)
	}
	if end := scalarEnd(text, i); end > i {
		return end
	}
	return -1
}

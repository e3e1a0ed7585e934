// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// MaxDepth limits the nesting of an event's JSON.
const MaxDepth = 10_000

// status is the result of reading a JSON value.
type status uint8

const (
	done   status = iota
	more          // the text ends within the value
	broken        // it is invalid JSON
	deep          // it is nested deeper than MaxDepth
)

// wants is the token that a scanner expects next.
type wants uint8

const (
	wantsValue wants = iota
	wantsValueOrEnd
	wantsKey
	wantsKeyOrEnd
	wantsColon
	wantsNext // a comma or the end
)

// scanner finds the end of a JSON value, whose text may come in parts. It
// checks the grammar, except inside strings.
type scanner struct {
	pos   int // the index up to which the text is scanned
	ahead int // the index up to which the token at pos is known to go on
	wants wants
	ends  []byte // the closing brackets that must come, the innermost last
}

func (s *scanner) reset() { *s = scanner{ends: s.ends[:0]} }

// scan goes on at pos. The text begins with the value, and includes the text of
// earlier calls. If the value is done, pos is behind it.
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
			if st = s.string(text); st == done {
				s.wants = wantsColon
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
		end := scalarEnd(text, max(s.pos, s.ahead))
		if end == len(text) && len(s.ends) > 0 {
			s.ahead = end
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
	from := max(s.pos, s.ahead)
	end := stringEnd(text, from)
	if end < 0 {
		if bytes.IndexByte(text[from:], '\n') >= 0 {
			return broken
		}
		s.ahead = len(text) - 1
		if escapes := len(text) - 1 - from - len(bytes.TrimRight(text[from+1:], `\`)); escapes%2 == 1 {
			s.ahead-- // to before the escape that the text ends in
		}
		return more
	}
	s.pos = end
	return done
}

// skipSpace returns the index of the next byte that is not white space.
func skipSpace(text []byte, i int) int { return skipIn(text, i, true) }

// skipIn is skipSpace in a text of lines, or else in one line.
func skipIn(text []byte, i int, lines bool) int {
	if i < len(text) && text[i] <= ' ' {
		return skipSpaces(text, i, lines)
	}
	return i
}

func skipSpaces(text []byte, i int, lines bool) int {
	for i < len(text) && isSpace(text[i]) && (lines || text[i] != '\n') {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r') }

// stringEnd returns the index behind the string that begins at i, or -1 if it
// does not end in its line.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); {
		if len(text)-i >= 8 {
			word := binary.LittleEndian.Uint64(text[i:])
			found := hasByte(word, '"') | hasByte(word, '\\') | hasByte(word, '\n')
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		}
		switch text[i] {
		case '"':
			return i + 1
		case '\n':
			return -1
		case '\\':
			if i++; i < len(text) && text[i] == '\n' {
				return -1
			}
		}
		i++
	}
	return -1
}

// plainEnd returns the index behind the string that begins at i if the string
// has only printable ASCII without a backslash. Otherwise it returns -1. Most
// strings are plain and short.
func plainEnd(text []byte, i int) int {
	for i++; len(text)-i >= 8; i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		found := hasByte(word, '"') | hasByte(word, '\\') | (word|(word-0x20*ones))&(0x80*ones)
		if found != 0 {
			if i += bits.TrailingZeros64(found) / 8; text[i] == '"' {
				return i + 1
			}
			break
		}
	}
	return -1
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

// nestedEnd returns the index behind the object or array at i, or -1, also if
// the value has a newline and lines is false. Inside, it looks only at strings
// and at brackets of the same kind.
//
// It goes from one closing bracket to the next. Most often, none of the bytes
// between is a backslash: then a bracket is in a string if the number of quotes
// before it is odd. Bytes can be searched and counted much faster than strings
// can be skipped one by one. The windows keep a search from going on far behind
// the value.
func nestedEnd(text []byte, i int, lines bool) int {
	opening, closing := text[i], text[i]+2
	depth := 1
	window, slash := i, i // no backslash is between i and slash
	for i++; i < len(text); {
		if i >= window {
			window = min(len(text), i+nestedWindow)
			if n := bytes.IndexByte(text[i:window], '\n'); n >= 0 && !lines {
				window, text = i+n, text[:i+n]
			}
		}
		if slash <= i {
			if slash = bytes.IndexByte(text[i:window], '\\'); slash < 0 {
				slash = window
			} else {
				slash += i
			}
		}
		between, closed := text[i:window], 0
		if n := bytes.IndexByte(between, closing); n >= 0 {
			between, closed = between[:n], 1
		}
		opened, plain := 0, slash >= i+len(between)
		if plain {
			opened, plain = countOpened(between, opening)
		}
		if !plain {
			if i, depth = nestedSlowly(text, i, i+len(between)+closed-1, opening, depth); depth == 0 || i < 0 {
				return i
			}
			continue
		}
		i += len(between) + closed
		if depth += opened - closed; depth == 0 {
			return i
		}
	}
	return -1
}

// nestedWindow is the length of the text that is searched at a time.
const nestedWindow = 4 << 10

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

// valueEnd returns the index behind the value at i, or -1 if the value does not
// end or is invalid. If no scanner has checked the text, valueEnd also returns
// -1 if the value does not end in its line, or may be nested too deep.
func valueEnd(text []byte, i int, checked bool) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return nestedValueEnd(text, i, checked)
	}
	end := scalarEnd(text, i)
	if !checked && !isScalar(text[i:end]) || end == i {
		return -1
	}
	return end
}

func nestedValueEnd(text []byte, i int, checked bool) int {
	end := 0
	if hasBlocks {
		end = nestedBlocks(&text[0], i, cap(text), checked)
	}
	if end == 0 || end > len(text) {
		end = nestedEnd(text, i, checked)
	}
	if end > 0 && !checked && tooDeep(text[i:end]) {
		return -1
	}
	return end
}

// tooDeep reports whether a value may be nested too deep in metrics, which are
// in an event.
func tooDeep(value []byte) bool {
	return len(value) > MaxDepth && bytes.Count(value, []byte{'['})+bytes.Count(value, []byte{'{'}) >= MaxDepth-1
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"slices"
)

// A line that is not JSON may have an event behind a prefix. The prefixes of
// the programs below are known, since only a known prefix can be cut from the
// lines of text that continue an event. Behind any other prefix, an event must
// be whole.

// cutPrefix cuts the prefix that a known program writes before each line:
//
//	2026-01-02T15:04:05Z stdout F …   CRI; P instead of F if the line goes on
//	2026-01-02T15:04:05Z …            docker, kubectl and journald
//	opa-1  | …                        docker compose
//	[pod/opa-6f/opa] …                kubectl
//	opa-6f opa …                      stern
//	Jan  2 15:04:05 host opa[7]: …    syslog and journald
//
// It returns the part of the prefix that tells the streams of lines apart, and
// whether the line goes on in a later one.
func cutPrefix(line []byte) (stream, rest []byte, part, ok bool) {
	line = skipColor(line)
	if len(line) == 0 {
		return nil, nil, false, false
	}
	if line[0] == '[' {
		name, rest, ok := bytes.Cut(line[1:], []byte("] "))
		if ok && bytes.IndexByte(name, '/') > 0 && bytes.IndexByte(name, ' ') < 0 {
			return name, skipColor(rest), false, true
		}
	}
	if isTimePrefix(line) {
		_, rest, _ := bytes.Cut(line, []byte{' '})
		stream, tagged, ok := bytes.Cut(rest, []byte{' '})
		if ok && (string(stream) == "stdout" || string(stream) == "stderr") {
			if tag, rest, _ := bytes.Cut(tagged, []byte{' '}); len(tag) > 0 && (tag[0] == 'P' || tag[0] == 'F') {
				return stream, rest, tag[0] == 'P', true
			}
		}
		return nil, rest, false, true
	}
	if stream, rest, ok = cutProcess(line); !ok {
		stream, rest, ok = cutNames(line)
	}
	return stream, rest, false, ok
}

// cutNames cuts a name and a bar, or the names of a pod and a container.
func cutNames(line []byte) (stream, rest []byte, ok bool) {
	n := nameEnd(line)
	if n == 0 {
		return nil, nil, false
	}
	rest = bytes.TrimLeft(line[n:], " ")
	if len(rest) > 0 && rest[0] == '|' {
		return line[:n], skipColor(bytes.TrimPrefix(skipColor(rest[1:]), []byte{' '})), true
	}
	pod := line[:n]
	rest, colored := bytes.CutPrefix(skipColor(line[n:]), []byte{' '})
	rest = skipColor(rest)
	n = nameEnd(rest)
	text, ok := bytes.CutPrefix(skipColor(rest[n:]), []byte{' '})
	if n == 0 || !ok || !colored || bytes.IndexByte(pod, '-') < 0 {
		return nil, nil, false
	}
	return slices.Concat(pod, []byte{' '}, rest[:n]), skipColor(text), true
}

// cutProcess cuts a prefix that ends in a process and its number: opa[7]: …
func cutProcess(line []byte) (stream, rest []byte, ok bool) {
	const longest = 200
	head := line[:min(len(line), longest)]
	end := bytes.Index(head, []byte("]: "))
	if end < 0 {
		return nil, nil, false
	}
	start := end
	for start > 0 && isDigit(head[start-1]) {
		start--
	}
	if start == end || start == 0 || head[start-1] != '[' || bytes.ContainsAny(head[:start], `{"`) {
		return nil, nil, false
	}
	stream = head[bytes.LastIndexByte(head[:start], ' ')+1 : end] // without the time
	return stream, line[end+len("]: "):], true
}

// isTimePrefix reports whether a line begins with what looks like a time with a
// zone, and a blank.
func isTimePrefix(line []byte) bool {
	const day, hour, end = len("2006-01-02"), len("2006-01-02T15"), len("2006-01-02T15:04:05")
	i := bytes.IndexByte(line[:min(len(line), 40)], ' ')
	return i > end && isDigit(line[0]) && line[day] == 'T' && line[hour] == ':' && isDigit(line[end-1]) &&
		(line[i-1] == 'Z' || bytes.ContainsAny(line[end:i], "+-"))
}

// skipColor cuts a terminal's sequence for a color.
func skipColor(line []byte) []byte {
	for len(line) > 1 && line[0] == '\x1b' && line[1] == '[' {
		end := bytes.IndexByte(line[:min(len(line), 16)], 'm')
		if end < 0 {
			break
		}
		line = line[end+1:]
	}
	return line
}

func nameEnd(line []byte) (n int) {
	for n < len(line) && (line[n]|0x20 >= 'a' && line[n]|0x20 <= 'z' || isDigit(line[n]) || line[n] == '-' || line[n] == '_' || line[n] == '.') {
		n++
	}
	return n
}

// maxTries limits the braces of a line that are tried as the beginning of an
// object.
const maxTries = 100

// embedded returns the JSON object in a line, or nil. It is the first text that
// parse finds to be an object, which may be: from a brace to the end, except
// what closes a quotation; a string behind key=, as logfmt has it; a field of
// CSV. logged reports whether it is in a line of a logger. A part of an event
// yields nothing: the objects in its tail are closed before its end, and an
// object that does not end may have others in it.
func embedded(line []byte, parse func(text []byte) (end int)) (object []byte, logged bool) {
	for i, tries := 0, 0; tries < maxTries; i, tries = i+1, tries+1 {
		n := bytes.IndexByte(line[i:], '{')
		if n < 0 {
			break
		}
		i += n
		if i > 0 && line[i-1] == '"' {
			if text := quotation(line, i-1); text != nil && parse(text) == len(text) {
				return text, endsLogged(line[:i])
			}
		}
		if end := parse(line[i:]); end > 0 && isClosing(line[i+end:]) {
			return line[i : i+end], endsLogged(line[:i])
		} else if end < 0 && isOpen(line[i:]) {
			break
		}
	}
	return nil, false
}

// isOpen reports whether a text is the beginning of an object.
func isOpen(text []byte) bool {
	_, st := scan(text)
	return st == more
}

// isClosing reports whether a text only closes a quotation or a line.
func isClosing(text []byte) bool { return len(bytes.TrimLeft(skipColor(text), " \t\r\"')>;")) == 0 }

// quotation returns the text in the quotation that begins at i, if it is of an
// object and a value of logfmt or of Fluent Bit's standard output, a field of
// CSV, or the whole line, also as an element of an array. Otherwise it returns
// nil.
func quotation(line []byte, i int) (text []byte) {
	switch rest := line[i+2:]; {
	case hasPrefix(rest, `""`):
		text, _, _, _ = cutCell(line[i:], ',')
		return text
	case hasPrefix(rest, `\"`) && (i == 0 || line[i-1] == '=' || hasPrefix(line[max(i-2, 0):], "=>")):
		if text, end := decodeString(nil, line, i); end > 0 && (i > 0 || isClosing(bytes.TrimPrefix(line[end:], []byte{','}))) {
			return text
		}
	}
	return nil
}

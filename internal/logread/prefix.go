// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
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
// whether the line goes on in a later one. last is the last prefix of a name.
func cutPrefix(line []byte, last *[]byte) (stream, rest []byte, part, ok bool) {
	if len(*last) > 0 && bytes.HasPrefix(line, *last) { // most often
		return bytes.TrimRight(*last, " "), line[len(*last):], false, true
	}
	head := line[:min(len(line), longestPrefix)]
	if isTimePrefix(line) {
		_, rest, _ := bytes.Cut(line, []byte{' '})
		stream, tagged, _ := bytes.Cut(rest, []byte{' '})
		tag, text, _ := bytes.Cut(tagged, []byte{' '})
		if (string(stream) == "stdout" || string(stream) == "stderr") && len(tag) > 0 && (tag[0] == 'P' || tag[0] == 'F') {
			return stream, text, tag[0] == 'P', true
		}
		return nil, rest, false, true
	}
	name := namePrefix.Find(head)
	if column := fieldOf(bytes.TrimRight(name, " |")); name != nil && column > fieldError && !column.isData() {
		if name[len(name)-1] == ' ' {
			*last = append((*last)[:0], name...)
		}
		return bytes.TrimRight(name, " "), line[len(name):], false, true
	}
	head = head[:min(len(head), bytes.LastIndex(head, []byte("]: "))+3)]
	if at := processPrefix.FindSubmatchIndex(head); at != nil {
		return bytes.TrimRight(line[at[2]:at[3]], " "), line[at[1]:], false, true
	}
	return nil, nil, false, false
}

const longestPrefix = 200

var (
	// These match the prefixes that do not begin with a time with a zone. A group
	// is without a time.
	namePrefix    = regexp.MustCompile(`^(?:\[[^ "\]]+/[^ "\]]*\] |[\w.-]+ *\| ?|[\w.]*-[\w.-]* [\w.-]+ )`)
	processPrefix = regexp.MustCompile(`^(?:[^{"]* )?([^ {"]*\[\d+\]: )`)
)

// isTimePrefix reports whether a line begins with what looks like a time with a
// zone, and a blank.
func isTimePrefix(line []byte) bool {
	const day, hour, end = len("2006-01-02"), len("2006-01-02T15"), len("2006-01-02T15:04:05")
	if len(line) <= end || !isDigit(line[0]) || line[day] != 'T' || line[hour] != ':' || !isDigit(line[end-1]) {
		return false
	}
	i := bytes.IndexByte(line[:min(len(line), 40)], ' ')
	return i > end && (line[i-1] == 'Z' || bytes.ContainsAny(line[end:i], "+-"))
}

// maxTries limits the braces of a line that are tried as the beginning of an
// object.
const maxTries = 100

// embedded returns the JSON object in a line, or nil. It is the first text that
// parse finds to be an object, which may be: from a brace to the end, except
// what closes a quotation or a list; a string behind key=, as logfmt has it; a
// field of CSV. It returns a list of objects that goes to the end, and one of the
// fields of CSV if several may be objects. logged reports whether it is in a line
// of a logger. A part of an event yields nothing: the objects in its tail are
// closed before its end, and an object that does not end may have others in it.
// One that ends before the line does is a column of a table, and the last column
// may be an input.
func embedded(line []byte, parse func(text []byte) (end int)) (object []byte, logged bool) {
	if isWhole(line, '[') {
		return line, false
	}
	for i, tries := 0, 0; tries < maxTries; i, tries = i+1, tries+1 {
		n := bytes.IndexByte(line[i:], '{')
		if n < 0 {
			break
		}
		i += n
		if i > 0 && line[i-1] == '"' {
			if text := quotation(line, i-1); text != nil && (text[0] == '[' || parse(text) == len(text)) {
				return text, endsLogged(line[:i])
			}
		}
		list := line[max(0, i-1):]
		switch end := parse(line[i:]); {
		case isWhole(list, '[') && !isOfClient(line[:i-1]):
			return list, endsLogged(line[:i-1])
		case end > 0 && isClosing(line[i+end:]) && !isOfClient(line[:i]):
			return line[i : i+end], endsLogged(line[:i])
		case end > len("{}"), end < 0 && new(scanner).scan(line[i:]) == more:
			return nil, false
		}
	}
	return nil, false
}

// isClosing reports whether a text only closes a quotation, a list or a line.
func isClosing(text []byte) bool {
	return len(bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\x1b[0m")), " \t\r\n\"')]>;")) == 0
}

// isOfClient reports whether a line goes up to what a client has sent: to
// arbitrary data of a member that logcli has extracted, as input_user=, or of a
// column, as input: or input |, or within one that Fluent Bit has, as
// "input"=>{"user"=>; or to a path, a query or an error.
func isOfClient(line []byte) bool {
	return (containsAny(line, dataNames) || containsAny(line, clientNames)) && dataBefore.Match(line)
}

var (
	clientNames = [][]byte{[]byte("path"), []byte("query"), []byte("error")}
	dataBefore  = regexp.MustCompile(`(?:` + string(bytes.Join(dataNames, []byte{'|'})) + `)(?:[\w.-]*[ :=|\[]+$|\w*"=>)|(?:path|query)"?[ :=>|\[]+$|^ *(?:error|input|path|query) *[:=|]`)
)

// quotation returns the text in the quotation that begins at i, if it is of an
// object and a value of logfmt or of Fluent Bit's standard output, a field of
// CSV, or the whole line, also as an element of an array. If other fields may be
// objects too, it returns a list of them. Otherwise it returns nil.
func quotation(line []byte, i int) (text []byte) {
	switch rest := line[i+2:]; {
	case hasPrefix(rest, `""`) && !bytes.Contains(line[:i], []byte("timer_")): // metrics in a field of their own
		cells, _ := cutCells(line[i:], ',')
		objects := slices.DeleteFunc(slices.Clone(cells), func(cell []byte) bool { return !hasPrefix(cell, "{") })
		if len(objects) < 2 {
			return cells[0]
		}
		text = append(text, "[null,"...) // a row
		for _, cell := range cells {
			text = append(appendText(text, cell), ',')
		}
		text[len(text)-1] = ']'
		return text
	case hasPrefix(rest, `\"`) && (i == 0 || line[i-1] == '=' || hasPrefix(line[max(i-2, 0):], "=>")) && !isOfClient(line[:i]):
		if text, end := decodeString(nil, line, i); end > 0 && (i > 0 || isClosing(bytes.TrimPrefix(line[end:], []byte{','}))) {
			return text
		}
	}
	return nil
}

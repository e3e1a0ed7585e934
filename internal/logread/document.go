// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import "bytes"

// An export may be one JSON document that is longer than an event may be, such
// as the answer to a search, or is cut. The reader does not collect it. It opens
// the document, and reads the values in it one by one.

// longestHead limits where in a document the long member may begin, in bytes.
const longestHead = 1 << 20

// openDocument opens the object at the beginning of text, and reports whether
// it has done so. It opens only an object that a member of an export makes
// long: any other one may be an event, or turn out to be a line of a logger.
func (s *source) openDocument(p *parser, text []byte) bool {
	const ofOthers = 1<<fieldDecisionID | 1<<fieldLabels | 1<<fieldMetrics | 1<<fieldLevel | 1<<fieldMsg
	head := bytes.Clone(text[:min(len(text), longestHead)])
	joinLines(head)
	p.parse(head)
	isLong := p.cut == fieldHits || p.cut == fieldResult && p.has(fieldExport)
	if !isLong || p.present&ofOthers != 0 || head[p.cutAt] != '{' && head[p.cutAt] != '[' || s.nesting+nesting(s.depth) >= maxNesting {
		return false
	}
	s.depth, s.document, s.within = s.depth+1, true, true
	return true
}

// documentString reads a string in a document: see step. A document is read
// without checking the order of tokens.
func (s *source) documentString(text []byte, all bool) (n int) {
	n, _ = stringEnd(text, 0)
	behind := skipSpace(text, max(n, 0))
	switch isEnd := behind == len(text) || n < 0 && lineEnd(text, 0) == len(text); {
	case isEnd && !all:
		return -1
	case n < 0:
		s.breakOff(s.cutBy(text), text, 0)
		return 0
	case !isEnd && text[behind] == ':':
		if f := fieldOf(text[1 : n-1]); f.isData() && f != fieldResult { // no export has it
			s.breakOff(TooLong, text, 0)
			return 0
		}
	case mayBegin(text[1:n]):
		s.reader.finder.take(s, text[:n])
	}
	s.within = true
	return n
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"context"
	"errors"
	"io"

	"github.com/regometer/regometer/internal/logread"
)

// An input is a file, standard input, or a member of an archive.
type input struct {
	InputFile
	parts   []*part // in the order of the text
	members *Inputs // of an archive: the sum of its members
}

// A part is text of an input that one reader reads.
type part struct {
	Inputs  // its decisions, other lines and problems; lines count from its beginning
	input   *input
	number  int // in the input
	lines   int64
	before  int64           // the lines before it in the file, when all parts have been read
	failure logread.Problem // if the file cannot be read, or ""
}

// newPart adds a part to an input.
func (in *input) newPart() *part {
	p := &part{input: in, number: len(in.parts)}
	in.parts = append(in.parts, p)
	return p
}

// order returns the number of a part in its input, or 0 for nil.
func (p *part) order() int {
	if p == nil {
		return 0
	}
	return p.number
}

// fail notes the error that ended the reading of a part.
func (p *part) fail(ctx context.Context, err error) {
	var known problemError
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, io.EOF):
	case errors.As(err, &known):
		p.failure = known.Problem
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		p.failure = Damaged
	default:
		p.failure = Unreadable
	}
}

// sum returns the inputs of all parts and members, with lines of the file.
func (in *input) sum() *Inputs {
	all, line, failed := new(Inputs), int64(0), false
	for _, p := range in.parts {
		p.before = line
		for _, problem := range p.Problems {
			for i := range problem.First {
				problem.First[i].Line += line
			}
		}
		all.merge(&p.Inputs)
		line += p.lines
		if p.failure != "" && !failed { // once, also if several parts fail
			all.problem(p.failure, 1, Place{in.Name, max(line, 1)})
			failed = true
		}
	}
	if in.members != nil {
		all.merge(in.members)
		return all
	}
	if all.Decisions > 0 || line == 0 {
		all.Unrecognised = ""
		return all
	}
	all.Unrecognised = Called(in.Name) + describe(all.Unrecognised)
	if _, cut := all.problems(logread.Truncated); cut.Count > 0 {
		all.Unrecognised += "; the file ends within an object"
	}
	all.problem(NoDecisionLog, 1, Place{in.Name, 1})
	return all
}

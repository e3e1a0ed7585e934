// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/regometer/regometer/internal/wire"
	"github.com/regometer/regometer/rollup"
)

// The format of a saved Data is told in docs/rgm.md: a change here is one
// there, and of the version if a reader of this one would misread it.

// rgmMagic is what a file begins with. Its first byte is in no text, and what
// changes line ends damages it.
const rgmMagic = "\x89RGM\r\n\x1a\n"

const rgmVersion = 1

// checksumBytes is how long the checksum at the end is.
const checksumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A section of a file.
type section struct {
	name   string
	append func(x *Data, dst []byte) ([]byte, error)
	read   func(x *Data, text []byte) error
}

// sections are those of a file, in this order. Their numbers are from 1 up.
var sections = []section{
	{"options", (*Data).appendOptions, (*Data).readOptions},
	{"inputs", (*Data).appendInputs, (*Data).readInputs},
	{"decision ids", (*Data).appendIDs, (*Data).readIDs},
	{"slowest decisions", (*Data).appendSlowest, (*Data).readSlowest},
	{
		"groups",
		func(x *Data, dst []byte) ([]byte, error) { return x.groups.AppendBinary(dst) },
		func(x *Data, text []byte) (err error) { x.groups, err = rollup.ReadGroups(text); return err },
	},
	{
		"revisions",
		func(x *Data, dst []byte) ([]byte, error) { return x.revisions.AppendBinary(dst) },
		func(x *Data, text []byte) (err error) { x.revisions, err = rollup.ReadGroups(text); return err },
	},
}

// AppendBinary appends what Save writes into a file. Data that hold the same
// give the same bytes.
func (x *Data) AppendBinary(dst []byte) ([]byte, error) {
	begin := len(dst)
	dst = append(dst, rgmMagic...)
	dst = wire.AppendUint(dst, rgmVersion)
	var content []byte
	for i, s := range sections {
		var err error
		if content, err = s.append(x, content[:0]); err != nil {
			return dst, err
		}
		dst = wire.AppendUint(dst, uint64(1+i))
		dst = wire.AppendUint(dst, uint64(len(content)))
		dst = append(dst, content...)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], castagnoli)), nil
}

// readRollup reads what AppendBinary wrote.
func readData(text []byte) (*Data, error) {
	if !bytes.HasPrefix(text, []byte(rgmMagic)) {
		return nil, errForeign
	}
	r := wire.NewReader(text[len(rgmMagic):])
	version := r.Uint(math.MaxUint64)
	switch {
	case r.Err() != nil:
		return nil, damagedFile(r.Err().Error())
	case version != rgmVersion:
		return nil, fmt.Errorf("has format version %d, and this regometer reads version %d alone: use a newer one", version, rgmVersion)
	}
	body := len(text) - checksumBytes
	if len(r.Rest()) < checksumBytes || crc32.Checksum(text[:body], castagnoli) != binary.LittleEndian.Uint32(text[body:]) {
		return nil, damagedFile("its checksum is not that of its content")
	}
	r.SkipTo(r.Rest()[:len(r.Rest())-checksumBytes])
	x := new(Data)
	for i, s := range sections {
		if number := r.Uint(math.MaxUint64); number != uint64(1+i) {
			r.Fail("section %d is not the %s", number, s.name)
		}
		content := r.Bytes(math.MaxInt)
		if r.Err() != nil {
			break
		}
		if err := s.read(x, content); err != nil {
			r.Fail("%s: %w", s.name, err)
		}
	}
	if err := r.End(); err != nil {
		return nil, damagedFile(err.Error())
	}
	return x, nil
}

func (x *Data) appendOptions(dst []byte) ([]byte, error) {
	dst = wire.AppendString(dst, x.by)
	return wire.AppendUint(dst, uint64(x.slowest.limit)), nil
}

func (x *Data) readOptions(text []byte) error {
	r := wire.NewReader(text)
	x.by = r.String(math.MaxInt)
	x.slowest.limit = int(r.Uint(maxSlowest))
	if err := r.End(); err != nil {
		return err
	}
	_, err := keyOf(x.by)
	return err
}

func (x *Data) appendInputs(dst []byte) ([]byte, error) {
	in := &x.inputs
	interrupted := uint64(0)
	if x.interrupted {
		interrupted = 1
	}
	dst = wire.AppendUint(dst, interrupted)
	for _, n := range [...]int64{in.files, in.bytes, in.decisions, in.otherLines} {
		dst = wire.AppendUint(dst, uint64(n))
	}
	dst = wire.AppendInt(dst, x.first)
	dst = wire.AppendInt(dst, x.last)
	dst = wire.AppendUint(dst, uint64(len(in.problems)))
	for _, kind := range slices.Sorted(maps.Keys(in.problems)) {
		p := in.problems[kind]
		dst = wire.AppendString(dst, kind)
		dst = wire.AppendUint(dst, uint64(p.Count))
		dst = wire.AppendUint(dst, uint64(len(p.First)))
		for _, place := range p.First {
			dst = appendPlace(dst, place)
		}
	}
	return dst, nil
}

// maxTotal bounds totals, so that those of many files can be added up.
const maxTotal = 1 << 56

func (x *Data) readInputs(text []byte) error {
	r := wire.NewReader(text)
	x.interrupted = r.Uint(1) == 1
	for _, n := range [...]*int64{&x.inputs.files, &x.inputs.bytes, &x.inputs.decisions, &x.inputs.otherLines} {
		*n = int64(r.Uint(maxTotal))
	}
	x.first, x.last = r.Int(), r.Int()
	if x.first > x.last || (x.first == rollup.NoTime) != (x.last == rollup.NoTime) {
		r.Fail("the first time and the last are not those of decisions")
	}
	before := ""
	for range r.Count(3) {
		kind := r.String(math.MaxInt)
		if kind <= before {
			r.Fail("problem %.80q is not in order", kind)
		}
		before = kind
		count := int64(r.Uint(maxTotal))
		places := make([]Place, r.Uint(firstPlaces))
		for i := range places {
			places[i] = readPlace(r)
		}
		if r.Err() != nil {
			break
		}
		x.inputs.problem(kind, count, places...)
	}
	return r.End()
}

func appendPlace(dst []byte, p Place) []byte {
	return wire.AppendUint(wire.AppendString(dst, p.File), uint64(p.Line))
}

func readPlace(r *wire.Reader) Place {
	return Place{r.String(math.MaxInt), int64(r.Uint(math.MaxInt64))}
}

func (x *Data) appendIDs(dst []byte) ([]byte, error) {
	dst = wire.AppendUint(dst, uint64(x.ids.shift))
	dst = wire.AppendUint(dst, uint64(len(x.ids.counts)))
	before := uint64(0)
	for _, id := range slices.Sorted(maps.Keys(x.ids.counts)) {
		dst = wire.AppendUint(dst, id-before)
		dst = wire.AppendUint(dst, uint64(x.ids.counts[id]))
		before = id
	}
	return dst, nil
}

func (x *Data) readIDs(text []byte) error {
	r := wire.NewReader(text)
	x.ids.shift = int(r.Uint(64))
	n := r.Count(2)
	switch {
	case n > maxIDs:
		r.Fail("there are %d: there may be at most %d", n, maxIDs)
	case x.ids.shift < idShift && (x.ids.shift > 0 || n > 0):
		r.Fail("the sample is too large")
	case x.ids.shift > 0:
		x.ids.counts = make(map[uint64]uint32, n)
	}
	id := uint64(0)
	for i := range n {
		more := r.Uint(math.MaxUint64 - id)
		count := r.Uint(math.MaxUint32)
		id += more
		if more == 0 && i > 0 || count == 0 || id>>(64-x.ids.shift) != 0 {
			r.Fail("an id is not of the sample")
		}
		if r.Err() != nil {
			break
		}
		x.ids.counts[id] = uint32(count)
	}
	return r.End()
}

func (x *Data) appendSlowest(dst []byte) ([]byte, error) {
	dst = wire.AppendUint(dst, uint64(len(x.slowest.kept)))
	for i := range x.slowest.kept {
		d := &x.slowest.kept[i]
		dst = wire.AppendString(dst, d.Key)
		dst = wire.AppendString(dst, d.ID)
		dst = wire.AppendInt(dst, d.Time)
		dst = wire.AppendUint(dst, uint64(d.Outcome))
		dst = wire.AppendUint(dst, uint64(len(d.Stages)))
		for _, s := range d.Stages {
			dst = wire.AppendString(dst, s.Stage)
			dst = wire.AppendUint(dst, uint64(s.Took))
		}
		dst = appendPlace(dst, d.Place)
	}
	return dst, nil
}

func (x *Data) readSlowest(text []byte) error {
	r := wire.NewReader(text)
	n := r.Count(9)
	if n > x.slowest.limit {
		r.Fail("there are %d: there may be at most %d", n, x.slowest.limit)
	}
	for range n {
		d := SlowDecision{
			Key: r.String(math.MaxInt), ID: r.String(math.MaxInt), Time: r.Int(), Outcome: rollup.Outcome(r.Uint(uint64(rollup.Cancelled))),
		}
		d.Stages = make([]StageTime, r.Count(2))
		for i := range d.Stages {
			d.Stages[i] = StageTime{r.String(math.MaxInt), int64(r.Uint(math.MaxInt64))}
		}
		d.Place = readPlace(r)
		if r.Err() == nil && len(d.Stages) == 0 {
			r.Fail("a decision has no stages")
		}
		if r.Err() != nil {
			break
		}
		d.Took = d.Stages[0].Took
		x.slowest.kept = append(x.slowest.kept, d)
	}
	x.slowest.cut()
	return r.End()
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

// uploadLimit is OPA's default of upload_size_limit_bytes. From 1.6 on, OPA
// drops an event that is larger after compression.
const uploadLimit = 32768

// largest describes the events above uploadLimit, and the largest of them.
// Compressing each would take longer than reading the log.
type largest struct {
	Count      int64         `json:"count"`
	Path       string        `json:"path"`
	Sizes      groupby.Sizes `json:"sizes"`
	Compressed uint64        `json:"compressed"` // by gzip
	Hash       uint64        `json:"hash"`       // decides between events of one size

	text []byte // until it is compressed
}

// add adds an event above uploadLimit.
func (l *largest) add(e *logread.Event) {
	l.Count++
	n := uint64(len(e.Text))
	if hash := hashOf(e); l.isBelow(n, hash) {
		l.Path, l.Hash, l.text = string(text.Cut(e.Path, maxKey)), hash, append(l.text[:0], e.Text...)
		l.Sizes = groupby.Sizes{Total: n, Max: n, Input: uint64(len(e.Input)), Result: uint64(len(e.Result)), Cache: uint64(len(e.Cache))}
	}
}

func (l *largest) isBelow(size, hash uint64) bool {
	return cmp.Or(cmp.Compare(l.Sizes.Total, size), cmp.Compare(l.Hash, hash)) < 0
}

// merge adds the events of o.
func (l *largest) merge(o *largest) {
	count := l.Count + o.Count
	if l.isBelow(o.Sizes.Total, o.Hash) {
		*l = *o
	}
	l.Count = count
}

// compress compresses the largest event as OPA does.
func (l *largest) compress() {
	if l.text == nil {
		return
	}
	var upload bytes.Buffer
	z := gzip.NewWriter(&upload)
	fmt.Fprintf(z, "[%s]", l.text)
	_ = z.Close() // this cannot fail
	l.Compressed, l.text = uint64(upload.Len()), nil
}

// check returns an error if no events can have these numbers.
func (l *largest) check() error {
	if l.Count < 0 || l.Count > maxTotal || (l.Count > 0) != (l.Sizes.Total > uploadLimit) || !l.Sizes.Valid() || len(l.Path) > maxKey {
		return fmt.Errorf("the largest of %d events is invalid", l.Count)
	}
	return nil
}

// partsText names the large parts, with their shares, between two texts, or
// returns "" if none is large.
func partsText(s *groupby.Sizes, before, after string) string {
	const large = 0.1
	var parts []string
	for _, part := range []struct {
		name  string
		bytes uint64
	}{{"input", s.Input}, {"result", s.Result}, {"nd_builtin_cache", s.Cache}} {
		if share := Ratio(part.bytes, s.Total); share >= large {
			parts = append(parts, part.name+" "+text.Percent(share))
		}
	}
	if parts == nil {
		return ""
	}
	return before + strings.Join(parts, ", ") + after
}

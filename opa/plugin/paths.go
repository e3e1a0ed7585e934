// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// paths says which decision paths get a label of their own. The others have
// the label "other".
type paths struct {
	// Enabled turns path labels on. If it is false, every decision has the
	// path "all".
	Enabled bool `json:"enabled"`
	// FromPolicy gives a label to each path for which the policy has rules.
	FromPolicy bool `json:"from_policy"`
	// Allow lists paths that get a label.
	Allow []string `json:"allow"`
	// Prefixes lists patterns. A path that begins with a pattern gets the
	// pattern as its label. A segment "*" stands for any one segment.
	Prefixes []string `json:"prefixes"`
}

// labels returns the labels that the configuration names, without duplicates.
func (p paths) labels() []string {
	var labels []string
	for _, path := range slices.Concat(p.Allow, p.Prefixes) {
		if label := canonical(path); !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// longestLabel limits the bytes of a path's label. A rollup accepts only labels
// in UTF-8 up to this length.
const longestLabel = 1024

// cutSegment returns a path's first segment as OPA's server reads it, and the
// rest of the path. At the end of the path, the segment is "". cutSegment skips
// empty segments, and writes equal integers the same way.
func cutSegment(path string) (segment, rest string) {
	path = strings.TrimLeft(path, "/")
	segment, rest, _ = strings.Cut(path, "/")
	if strings.IndexByte(segment, '%') >= 0 {
		if s, err := url.PathUnescape(segment); err == nil {
			segment = s
		}
	}
	if n, ok := integer(segment); ok {
		segment = strconv.FormatInt(n, 10)
	}
	return segment, rest
}

// integer returns s as an int64, or false if s is not one. It is fast for most
// texts that are not.
func integer(s string) (int64, bool) {
	if s == "" || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// join appends a segment to a label. It escapes slashes and percent signs, so
// that different paths have different labels.
func join(label, segment string) string {
	segment = strings.ReplaceAll(segment, "%", "%25")
	segment = strings.ReplaceAll(segment, "/", "%2F")
	if label == "" {
		return segment
	}
	return label + "/" + segment
}

// canonical returns the label of a path that the configuration names.
func canonical(path string) (label string) {
	for segment, rest := cutSegment(path); segment != ""; segment, rest = cutSegment(rest) {
		label = join(label, segment)
	}
	return label
}

// A pattern is a node in the tree of the paths that the configuration names.
type pattern struct {
	exact    string              // the label of the path that ends here, or ""
	prefix   string              // the label of the paths that continue from here, or ""
	children map[string]*pattern // by segment, or by anySegment for *
}

// anySegment is no segment of a path.
const anySegment = ""

// namedPaths returns the tree of the paths that the configuration names.
func namedPaths(p paths) *pattern {
	root := &pattern{}
	for _, path := range p.Allow {
		root.at(path, false).exact = canonical(path)
	}
	for _, path := range p.Prefixes {
		root.at(path, true).prefix = canonical(path)
	}
	return root
}

// at returns the node of a path. It makes the node if there is none.
func (p *pattern) at(path string, wild bool) *pattern {
	for segment, rest := cutSegment(path); segment != ""; segment, rest = cutSegment(rest) {
		if wild && segment == "*" {
			segment = anySegment
		}
		if p.children == nil {
			p.children = map[string]*pattern{}
		}
		if p.children[segment] == nil {
			p.children[segment] = &pattern{}
		}
		p = p.children[segment]
	}
	return p
}

// find returns the label that the configuration gives a path, or "". This is
// the path itself if it is named, or else the longest prefix that fits. Among
// equally long prefixes, the one whose first * comes latest wins.
func (p *pattern) find(path string) string {
	label, _ := p.longest(path, 0)
	return label
}

// longest returns the label for the rest of a path, and the label's number of
// segments. A path that is named itself wins, because no prefix is longer and
// its segments are not *.
func (p *pattern) longest(path string, depth int) (label string, length int) {
	segment, rest := cutSegment(path)
	if segment == "" {
		return cmp.Or(p.exact, p.prefix), depth
	}
	label, length = p.prefix, depth
	for _, key := range [...]string{segment, anySegment} {
		if child := p.children[key]; child != nil {
			if l, n := child.longest(rest, depth+1); l != "" && n > length {
				label, length = l, n
			}
		}
	}
	return label, length
}

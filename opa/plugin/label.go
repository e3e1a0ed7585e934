// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// Labels of decisions without a path of their own, besides outcome.Query.
const (
	allPaths = "all"           // all decisions, if path labels are off
	rootPath = outcome.AllData // decisions on all documents at once
)

// unnamed is the number of labels beyond max_paths. These are rootPath and
// outcome.Query. rollup.Other does not count.
const unnamed = 2

// longestLabel limits the bytes of a path's label. A rollup accepts only labels
// in UTF-8 up to this length.
const longestLabel = 1024

// A label is a value of the label path.
type label struct {
	name string
	// counted is true once there are series for the label. A rollup has room
	// for the labels that one plugin gives, but series of former labels may
	// take the room.
	counted atomic.Bool
}

// other is the label rollup.Other, for which there is always room.
var other = &label{name: rollup.Other}

// A pathLabel is the label of a path. If merged is not nil, this document of
// the policy has no label of its own because there is no room.
type pathLabel struct {
	*label
	merged *document
}

// labels maps decision paths to labels. It depends only on the configuration
// and the policy. It does not change, because another policy makes new labels.
type labels struct {
	paths    paths
	named    *pattern      // the paths of the configuration
	policy   *document     // the paths of the policy's rules
	compiler *ast.Compiler // has the policy; may be nil
	// ready has the labels of the policy's documents by path, so that one
	// look-up finds the labels of most decisions.
	ready map[string]pathLabel

	given  map[string]*label // all labels except the variable other
	counts *policyPaths      // nil if no policy gives labels
}

// policyPaths counts the paths of a policy's rules by the kind of their label.
type policyPaths struct {
	own, merged, other int
	examples           []string // some paths without a label of their own
}

// maxExamples limits the paths that a message names.
const maxExamples = 5

// String returns a message about the paths that have no label of their own. It
// returns "" if there are none.
func (c *policyPaths) String() string {
	if c == nil || c.merged+c.other == 0 {
		return ""
	}
	shared := c.merged + c.other
	return fmt.Sprintf("The policy has %d paths, but only %d have a label of their own. %d share the label of a package, and %d are %q. Examples: %s. "+
		"Raise max_paths and max_series, annotate entry points, or name the important paths in paths.allow.",
		c.own+shared, c.own, c.merged, c.other, rollup.Other, strings.Join(c.examples, ", "))
}

func newLabels(config *settings, c *ast.Compiler) *labels {
	p := config.Paths
	l := &labels{paths: p, named: namedPaths(p), policy: &document{}, compiler: c, ready: map[string]pathLabel{}, given: map[string]*label{}}
	if !p.Enabled {
		l.give(allPaths)
		return l
	}
	l.give(outcome.Query)
	l.give(rootPath)
	for _, name := range p.labels() {
		l.give(name)
	}
	if p.FromPolicy && c != nil {
		l.policy = policyDocuments(c)
		labelDocuments(l.policy, c, config.MaxPaths-len(p.labels()), l.named.find)
		l.counts = &policyPaths{}
		l.policy.forEach(l.prepare)
		slices.Sort(l.counts.examples)
		l.counts.examples = slices.Clone(l.counts.examples[:min(len(l.counts.examples), maxExamples)])
	}
	return l
}

// give returns the label of a name. It makes the label if there is none.
func (l *labels) give(name string) *label {
	given := l.given[name]
	if given == nil {
		given = &label{name: name}
		l.given[name] = given
	}
	return given
}

// prepare sets the label of a document of the policy, and counts its path.
func (l *labels) prepare(d *document) {
	d.result = pathLabel{other, d}
	if d.label != "" {
		d.result.label = l.give(d.label)
	}
	if d.label == d.path || l.named.find(d.path) != "" {
		d.result.merged = nil
	}
	l.ready[d.path] = d.result
	switch {
	case len(d.rules) == 0:
		return
	case d.result.merged == nil:
		l.counts.own++
		return
	case d.label == "":
		l.counts.other++
	default:
		l.counts.merged++
	}
	l.counts.examples = append(l.counts.examples, d.path)
}

// of returns the label of a decision, and whether its path is known. It
// allocates memory only for paths with percent signs or unusual numbers.
func (l *labels) of(path, query string) (label pathLabel, known bool) {
	if !l.paths.Enabled {
		return pathLabel{l.given[allPaths], nil}, true
	}
	if path != "" && path[0] == '/' {
		path = path[1:]
	}
	if label, ok := l.ready[path]; ok {
		return label, true
	}
	if isQuery(path, query) {
		return pathLabel{l.given[outcome.Query], nil}, true
	}
	if first, _ := cutSegment(path); first == "" {
		return pathLabel{l.given[rootPath], nil}, true
	}
	if name := l.named.find(path); name != "" {
		return pathLabel{l.give(name), nil}, true
	}
	if d := l.policy.find(path); d != nil {
		return d.result, true
	}
	return pathLabel{other, nil}, false
}

// isQuery reports whether a decision answers an ad-hoc query. A decision of the
// Compile API has a query too, but it also has a path.
func isQuery(path, query string) bool {
	return query != "" && strings.Trim(path, "/") == ""
}

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

// integer returns s as an int64, or false if s is not one. It does what
// strconv.ParseInt does, but allocates nothing for most invalid texts.
func integer(s string) (int64, bool) {
	if s == "" || s[0] > '9' {
		return 0, false
	}
	digits := s
	if s[0] == '+' || s[0] == '-' {
		digits = s[1:]
	}
	if strings.Trim(digits, "0123456789") != "" {
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
	exact    string // the label of the path that ends here, or ""
	prefix   string // the label of the paths that continue from here, or ""
	children map[string]*pattern
	any      *pattern // the child for the segment *
}

// namedPaths returns the tree of the paths that the configuration names.
func namedPaths(p paths) *pattern {
	root := &pattern{}
	for _, path := range p.Allow {
		root.add(path, false).exact = canonical(path)
	}
	for _, path := range p.Prefixes {
		root.add(path, true).prefix = canonical(path)
	}
	return root
}

// add returns the node of a path. It makes the node if there is none.
func (p *pattern) add(path string, wild bool) *pattern {
	segment, rest := cutSegment(path)
	if segment == "" {
		return p
	}
	if wild && segment == "*" {
		if p.any == nil {
			p.any = &pattern{}
		}
		return p.any.add(rest, wild)
	}
	child := p.children[segment]
	if child == nil {
		if p.children == nil {
			p.children = map[string]*pattern{}
		}
		child = &pattern{}
		p.children[segment] = child
	}
	return child.add(rest, wild)
}

// labels returns the labels that the configuration names, without duplicates.
func (p paths) labels() []string {
	var labels []string
	for _, paths := range [...][]string{p.Allow, p.Prefixes} {
		for _, path := range paths {
			if label := canonical(path); !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	return labels
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
	if child := p.children[segment]; child != nil {
		if l, n := child.longest(rest, depth+1); l != "" {
			label, length = l, n
		}
	}
	if p.any != nil {
		if l, n := p.any.longest(rest, depth+1); l != "" && n > length {
			label, length = l, n
		}
	}
	return label, length
}

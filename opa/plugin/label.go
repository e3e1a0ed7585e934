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

	"github.com/regometer/regometer/rollup"
)

// Labels of decisions that have no path of their own, besides rollup.Query.
const (
	allPaths = "all"          // every decision, if path labels are off
	rootPath = rollup.AllData // decisions on all documents at once
)

// unnamed is the number of labels that Config.MaxPaths does not limit, without
// rollup.Other: rootPath and rollup.Query.
const unnamed = 2

// longestLabel limits the bytes of a path's label. A rollup accepts only labels
// in UTF-8 up to this length.
const longestLabel = 1024

// A label is a value of the label path.
type label struct {
	name string
	// counted is set once there are series for it. A rollup has room for all
	// given labels, but may also have series of former ones.
	counted atomic.Bool
}

// other is rollup.Other, for which there is always room.
var other = &label{name: rollup.Other}

// A pathLabel is the label of a path. shared means that the path has no label
// of its own because there is no room.
type pathLabel struct {
	*label
	shared bool
}

// labels maps decision paths to labels. It follows from the configuration and
// the policy, and does not change: another policy makes other labels.
type labels struct {
	paths    Paths
	named    *pattern      // the paths of the configuration
	policy   *document     // the paths of the policy's rules
	compiler *ast.Compiler // the policy; may be nil
	// ready has the labels of the policy's documents by path, in the usual
	// form: one look-up finds the labels of most decisions.
	ready map[string]pathLabel

	given  map[string]*label // all labels except the variable other
	counts policyPaths
}

// policyPaths counts the paths of a policy's rules by the kind of their label.
type policyPaths struct {
	own, merged, other int
	examples           []string // some paths without a label of their own
}

// maxExamples limits the paths that a message names.
const maxExamples = 5

// String says which paths have no label of their own. It returns "" if all have
// one.
func (c *policyPaths) String() string {
	shared := c.merged + c.other
	if shared == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d paths of the policy, %d have a label of their own, %d share that of a package, and %d are %q: such as %s. "+
		"Raise max_paths and max_series, annotate entry points, or name the important ones in paths.",
		c.own+shared, c.own, c.merged, c.other, rollup.Other, strings.Join(c.examples, ", "))
}

func newLabels(config *Config, c *ast.Compiler) *labels {
	p := config.Paths
	l := &labels{paths: p, named: namedPaths(p), policy: &document{}, compiler: c, ready: map[string]pathLabel{}, given: map[string]*label{}}
	if !p.Enabled {
		l.give(allPaths)
		return l
	}
	l.give(rollup.Query)
	l.give(rootPath)
	for _, name := range p.labels() {
		l.give(name)
	}
	if p.FromPolicy && c != nil {
		l.policy = policyDocuments(c)
		labelDocuments(l.policy, c, config.MaxPaths-len(p.labels()), l.named.find)
		l.policy.all(l.prepare)
	}
	slices.Sort(l.counts.examples)
	l.counts.examples = slices.Clone(l.counts.examples[:min(len(l.counts.examples), maxExamples)])
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

// prepare adds the label of a document of the policy.
func (l *labels) prepare(d *document) {
	d.result = pathLabel{other, true}
	if d.label != "" {
		d.result = pathLabel{l.give(d.label), d.label != d.path && l.named.find(d.path) == ""}
	}
	l.ready[d.path] = d.result
	switch {
	case len(d.rules) == 0:
		return
	case !d.result.shared:
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
// allocates only for paths with percent signs or unusual numbers.
func (l *labels) of(path, query string) (label pathLabel, known bool) {
	if !l.paths.Enabled {
		return pathLabel{l.given[allPaths], false}, true
	}
	if path != "" && path[0] == '/' {
		path = path[1:]
	}
	if label, ok := l.ready[path]; ok {
		return label, true
	}
	if isQuery(path, query) {
		return pathLabel{l.given[rollup.Query], false}, true
	}
	if first, _ := cutSegment(path); first == "" {
		return pathLabel{l.given[rootPath], false}, true
	}
	if name := l.named.find(path); name != "" {
		return pathLabel{l.give(name), false}, true
	}
	if d := l.policy.find(path); d != nil {
		return d.result, true
	}
	return pathLabel{other, false}, false
}

// isQuery reports whether a decision is of an ad-hoc query. Decisions of the
// Compile API have both a query and a path.
func isQuery(path, query string) bool {
	return query != "" && strings.Trim(path, "/") == ""
}

// cutSegment returns a path's first segment as OPA's server reads it, and the
// rest of the path. At the end the segment is "". It skips empty segments, and
// gives whole numbers one form.
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

// integer is strconv.ParseInt without most of its errors, which allocate.
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
// that no two paths have the same label.
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
	exact    string // label of the path that ends here, "" if there is none
	prefix   string // label of all paths that begin here, "" if there is none
	children map[string]*pattern
	any      *pattern // for a segment *
}

// namedPaths returns the tree of the paths that the configuration names.
func namedPaths(p Paths) *pattern {
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

// labels returns the labels that the configuration names, each once.
func (p Paths) labels() []string {
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

// find returns a path's label: the path itself if it is named, or else the
// longest prefix, and of equally long ones that with the later *. It returns ""
// if no prefix fits.
func (p *pattern) find(path string) string {
	label, _ := p.longest(path, 0)
	return label
}

// longest returns the label from here on, and its number of segments. No prefix
// is longer than a path that is named itself, which has no *.
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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
)

// Labels of decisions that have no path of their own.
const (
	allPaths  = "all"     // of all, if path labels are off
	queryPath = "(query)" // of POST /v1/query, where the client writes the query
	rootPath  = "(data)"  // of all documents at once
)

// labels says which decision paths get which label. It does not change: a new
// policy makes new ones.
type labels struct {
	paths    Paths
	named    *pattern      // by the configuration; nil = there are none
	policy   *document     // by the policy's rules; nil = there are none
	compiler *ast.Compiler // whose rules these are; may be nil
	// ready has the labels of the policy's documents by path, written the usual
	// way: one look-up finds what most decisions are about.
	ready map[string]string
}

func newLabels(p Paths, c *ast.Compiler) *labels {
	l := &labels{paths: p, compiler: c, ready: map[string]string{}}
	if len(p.Allow)+len(p.Prefixes) > 0 {
		l.named = namedPaths(p)
	}
	if p.Enabled && p.FromPolicy {
		l.policy = policyDocuments(c)
		l.prepare(l.policy)
	}
	return l
}

// prepare makes the labels of a document, and of those below it, ready.
func (l *labels) prepare(d *document) {
	if d == nil {
		return
	}
	if path := d.label; path != "" && !strings.Contains(path, "%") { // no escapes: the label is the path
		l.ready[path] = l.find(path)
	}
	for _, child := range d.children {
		l.prepare(child)
	}
}

// of returns the label of an event's path, false for "other". It allocates
// only for paths with percent signs or unusual numbers.
func (l *labels) of(event *logs.EventV1) (label string, ok bool) {
	if !l.paths.Enabled {
		return allPaths, true
	}
	path := event.Path
	if path != "" && path[0] == '/' {
		path = path[1:]
	}
	if label, ok := l.ready[path]; ok {
		return label, true
	}
	if first, _ := cutSegment(path); first == "" {
		if event.Query != "" {
			return queryPath, true
		}
		return rootPath, true
	}
	label = l.find(path)
	return label, label != ""
}

// find returns the label of a path, "" for none: what the configuration says,
// else what the policy says.
func (l *labels) find(path string) (label string) {
	if l.named != nil {
		label = l.named.find(path)
	}
	if label == "" && l.policy != nil {
		label = l.policy.find(path)
	}
	return label
}

// cutSegment returns a path's first segment as OPA's server reads it, "" at
// the end, and what follows it. Empty segments are skipped; whole numbers have
// one form.
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

// integer is strconv.ParseInt without its errors, which allocate.
func integer(s string) (int64, bool) {
	if s == "" || s[0] > '9' {
		return 0, false
	}
	digits := s
	if s[0] == '+' || s[0] == '-' {
		digits = s[1:]
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > len("9223372036854775807") {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// join appends a segment to a label. A slash or percent sign within it is
// escaped, so that no two paths have the same label.
func join(label, segment string) string {
	segment = strings.ReplaceAll(segment, "%", "%25")
	segment = strings.ReplaceAll(segment, "/", "%2F")
	if label == "" {
		return segment
	}
	return label + "/" + segment
}

// canonical returns the label that a path has if it is named as it is.
func canonical(path string) (label string) {
	for segment, rest := cutSegment(path); segment != ""; segment, rest = cutSegment(rest) {
		label = join(label, segment)
	}
	return label
}

// A document is a node of the tree of rules, keyed by path segments.
type document struct {
	label    string
	rule     bool // there are rules at this very path
	children map[string]*document
}

// policyDocuments returns the documents that a policy's rules make, and nil if
// there are none.
func policyDocuments(c *ast.Compiler) *document {
	if c == nil || c.RuleTree == nil {
		return nil
	}
	data := c.RuleTree.Child(ast.DefaultRootDocument.Value)
	if data == nil {
		return nil
	}
	return newDocument(data, "")
}

// newDocument returns nil if there are no rules at this node or below it. What
// follows a variable in a rule's head is no node: the tree ends there.
func newDocument(node *ast.TreeNode, label string) *document {
	d := &document{label: label, rule: len(node.Values) > 0}
	defined := d.rule
	for key, child := range node.Children {
		segment := ""
		switch key := key.(type) {
		case ast.String:
			segment = string(key)
		case ast.Number:
			if n, ok := key.Int64(); ok {
				segment = strconv.FormatInt(n, 10)
			}
		}
		sub := newDocument(child, join(label, segment))
		if sub == nil {
			continue
		}
		defined = true
		_, isString := key.(ast.String)
		if _, isInteger := integer(segment); segment == "" || isString && isInteger {
			continue // no path leads there: in a path, digits are a number
		}
		if d.children == nil {
			d.children = map[string]*document{}
		}
		d.children[segment] = sub
	}
	if !defined {
		return nil
	}
	return d
}

// find returns the label of a path: the path itself if the policy defines it
// or something below it, else the rule within whose result it lies, else "".
func (d *document) find(path string) (label string) {
	for segment, rest := cutSegment(path); segment != ""; segment, rest = cutSegment(rest) {
		child := d.children[segment]
		if child == nil {
			return label
		}
		if d = child; d.rule {
			label = d.label
		}
	}
	return d.label
}

// A pattern is a node of the tree of paths that the configuration names.
type pattern struct {
	exact    string // label of the path that ends here
	prefix   string // label of all paths that begin so
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

// add returns the node of a path, made if need be.
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

// find returns a path's label, "" for none: the path itself if it is named,
// else the longest prefix, of equally long ones that with the later *.
func (p *pattern) find(path string) string {
	label, _, _ := p.longest(path, 0)
	return label
}

// longest returns the label found from here on, how many segments it has, and
// whether it is exact.
func (p *pattern) longest(path string, depth int) (label string, length int, exact bool) {
	segment, rest := cutSegment(path)
	if segment == "" && p.exact != "" {
		return p.exact, depth, true
	}
	label, length = p.prefix, depth
	if segment == "" {
		return label, length, false
	}
	if child := p.children[segment]; child != nil {
		if l, n, exact := child.longest(rest, depth+1); l != "" {
			if exact {
				return l, n, true
			}
			label, length = l, n
		}
	}
	if p.any != nil {
		if l, n, _ := p.any.longest(rest, depth+1); l != "" && n > length {
			label, length = l, n
		}
	}
	return label, length, false
}

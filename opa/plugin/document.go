// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A document is a node in the tree of the documents that a policy defines. It
// is a rule, a package, or the common beginning of packages. The edges of the
// tree are path segments. The tree has no functions and no tests, because
// clients do not ask for them.
type document struct {
	path     string // the label, if the document gets its own
	depth    int    // the number of segments of path
	parent   *document
	rules    []*ast.Rule // at exactly this path
	children map[string]*document

	tier  int
	own   bool   // whether path is the label
	label string // or "" if there is none
}

// policyDocuments returns the tree of a policy's documents.
func policyDocuments(c *ast.Compiler) *document {
	root := &document{}
	if data := c.RuleTree.Child(ast.DefaultRootDocument.Value); data != nil {
		newDocument(data, root)
	}
	return root
}

// newDocument fills in d from node, and returns d. It returns nil if there are
// no rules at this node or below it. The tree ends at the first variable in a
// rule's head.
func newDocument(node *ast.TreeNode, d *document) *document {
	for _, v := range node.Values {
		// In older releases of OPA, v is an any.
		if r, ok := any(v).(*ast.Rule); ok && len(r.Head.Args) == 0 && !isTest(r) {
			d.rules = append(d.rules, r)
		}
	}
	defined := len(d.rules) > 0
	for key, child := range node.Children {
		segment := segmentOf(key)
		sub := newDocument(child, &document{path: join(d.path, segment), depth: d.depth + 1, parent: d})
		if sub == nil {
			continue
		}
		defined = true
		_, isString := key.(ast.String)
		if _, isInteger := integer(segment); segment == "" || isString && isInteger {
			continue // a path cannot lead there, because OPA reads digits in a path as a number
		}
		if len(sub.path) > longestLabel {
			continue
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

// segmentOf returns the path segment of a key, or "" if the key cannot be one.
func segmentOf(key ast.Value) string {
	switch key := key.(type) {
	case ast.String:
		return string(key)
	case ast.Number:
		if n, ok := key.Int64(); ok {
			return strconv.FormatInt(n, 10)
		}
	}
	return ""
}

// pathOf returns the path of a rule or package, as a label.
func pathOf(ref ast.Ref) (path string) {
	ref = ref.GroundPrefix()
	for _, term := range ref[min(1, len(ref)):] { // skip data
		path = join(path, segmentOf(term.Value))
	}
	return path
}

// isTest reports whether `opa test` runs a rule.
func isTest(r *ast.Rule) bool {
	ref := r.Ref().GroundPrefix()
	if len(ref) == 0 {
		return false
	}
	name := segmentOf(ref[len(ref)-1].Value)
	return strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "todo_test_")
}

// forEach calls f with each document except the root.
func (d *document) forEach(f func(*document)) {
	if d.depth > 0 {
		f(d)
	}
	for _, child := range d.children {
		child.forEach(f)
	}
}

// find returns the document at a path. If there is none, it returns the rule
// whose result contains the path, or nil.
func (d *document) find(path string) (found *document) {
	for segment, rest := cutSegment(path); segment != ""; segment, rest = cutSegment(rest) {
		child := d.children[segment]
		if child == nil {
			return found
		}
		if d = child; len(d.rules) > 0 {
			found = d
		}
	}
	return d
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A document is a node in the tree of the documents that a policy defines, by
// path segments: a rule, a package, or the common beginning of packages.
// Functions and tests, for which nobody asks, are not in the tree.
type document struct {
	path     string // the label, if it gets its own
	depth    int    // number of segments of path
	parent   *document
	rules    []*ast.Rule // at exactly this path
	children map[string]*document

	tier   int
	own    bool      // whether path is its label
	label  string    // the name of its label, "" if it has none
	result pathLabel // the label itself
}

// policyDocuments returns the tree of a policy's documents.
func policyDocuments(c *ast.Compiler) *document {
	root := &document{}
	if data := c.RuleTree.Child(ast.DefaultRootDocument.Value); data != nil {
		newDocument(data, root)
	}
	return root
}

// newDocument fills in d. It returns nil if there are no rules at this node or
// below it. The tree ends at the first variable in a rule's head.
func newDocument(node *ast.TreeNode, d *document) *document {
	for _, v := range node.Values {
		// In older releases, values are of any type.
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
			continue // no path leads there, because digits in a path are a number
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
	for _, term := range ref[min(1, len(ref)):] { // without data
		path = join(path, segmentOf(term.Value))
	}
	return path
}

// isTest reports whether a rule is one of those that `opa test` runs.
func isTest(r *ast.Rule) bool {
	ref := r.Ref().GroundPrefix()
	if len(ref) == 0 {
		return false
	}
	name := segmentOf(ref[len(ref)-1].Value)
	return strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "todo_test_")
}

// all calls f for each document except the root.
func (d *document) all(f func(*document)) {
	if d.depth > 0 {
		f(d)
	}
	for _, child := range d.children {
		child.all(f)
	}
}

// find returns the document at a path, or the rule whose result contains it, or
// nil.
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

// The order in which a policy's documents get labels, as long as there is room.
const (
	entryPoint = iota // annotated as an entry point
	askedFor          // a rule that no other rule depends on
	container         // a package, or the common beginning of packages
	helper            // a rule that others depend on

	tiers
)

// labelDocuments gives each document below root its label: its own, or that of
// the nearest document above it that has one, or "". It gives room or fewer
// labels. They follow only from the policy, so that all servers with the same
// policy give the same labels.
//
// The documents come in tiers, the most important first. If a tier does not
// fit, mergeDeepest merges some of it. A document for which named returns a
// label has that label, and takes no room.
func labelDocuments(root *document, c *ast.Compiler, room int, named func(path string) string) {
	findTiers(root, c)
	var wanted [tiers][]*document
	root.all(func(d *document) {
		if d.label = named(d.path); d.label == "" {
			wanted[d.tier] = append(wanted[d.tier], d)
		}
	})
	for _, documents := range wanted {
		fitting := mergeDeepest(documents, room)
		for _, d := range fitting {
			d.own, d.label = true, d.path
		}
		room -= len(fitting)
	}
	root.inherit("")
}

// inherit gives the documents without a label the label of the nearest document
// above them.
func (d *document) inherit(above string) {
	d.label = cmp.Or(d.label, above)
	for _, child := range d.children {
		child.inherit(d.label)
	}
}

// mergeDeepest returns the documents that get labels so that each of these has
// its own label or that of a document above it. If there is room, it returns
// the documents themselves. Otherwise it merges as few as possible of the
// deepest ones into the documents above them. The document with the most
// members comes first, by name if equally many, and of its members the last
// ones by name are merged. Then the next level follows. If too many are left,
// as with packages that have nothing in common, the last ones by name get no
// label.
func mergeDeepest(documents []*document, room int) []*document {
	set, deepest := map[*document]bool{}, 0
	for _, d := range documents {
		if !d.own {
			set[d] = true
			deepest = max(deepest, d.depth)
		}
	}
	for level := deepest; level > 1 && len(set) > room; level-- {
		inside := map[*document][]*document{}
		for d := range set {
			if d.depth >= level {
				above := d.above(level - 1)
				inside[above] = append(inside[above], d)
			}
		}
		// saved is the number of labels that merging into a document saves.
		saved := func(into *document) int {
			if set[into] || into.own {
				return len(inside[into])
			}
			return len(inside[into]) - 1
		}
		order := slices.SortedFunc(maps.Keys(inside), func(a, b *document) int {
			return cmp.Or(cmp.Compare(saved(b), saved(a)), cmp.Compare(a.path, b.path))
		})
		for _, into := range order {
			if len(set) <= room || saved(into) == 0 {
				break
			}
			if !into.own {
				set[into] = true
			}
			members := inside[into]
			slices.SortFunc(members, byPath)
			for len(members) > 0 && len(set) > room {
				delete(set, members[len(members)-1])
				members = members[:len(members)-1]
			}
		}
	}
	fitting := slices.SortedFunc(maps.Keys(set), byPath)
	return fitting[:min(len(fitting), room)]
}

func byPath(a, b *document) int { return cmp.Compare(a.path, b.path) }

// above returns the document at this depth on the way to d.
func (d *document) above(depth int) *document {
	for d.depth > depth {
		d = d.parent
	}
	return d
}

// findTiers finds the tier of each document.
func findTiers(root *document, c *ast.Compiler) {
	entryPoints := entryPointsOf(c)
	home := map[*ast.Rule]*document{}
	root.all(func(d *document) {
		for _, r := range d.rules {
			home[r] = d
		}
	})
	// depended reports whether other rules, except tests, need this document's.
	depended := func(d *document) bool {
		if c.Graph == nil {
			return false
		}
		for _, r := range d.rules {
			for dependent := range c.Graph.Dependents(r) {
				if other, ok := dependent.(*ast.Rule); ok && home[other] != d && !isTest(other) {
					return true
				}
			}
		}
		return false
	}
	root.all(func(d *document) {
		switch {
		case entryPoints[d.path]:
			d.tier = entryPoint
		case len(d.rules) == 0:
			d.tier = container
		case depended(d):
			d.tier = helper
		default:
			d.tier = askedFor
		}
	})
}

// entryPointsOf returns the paths with an annotation as entry point.
func entryPointsOf(c *ast.Compiler) map[string]bool {
	paths, annotated := map[string]bool{}, false
	if set := c.GetAnnotationSet(); set != nil {
		for _, a := range set.Flatten() {
			annotated = true
			if a.Annotations != nil && a.Annotations.Entrypoint {
				paths[pathOf(a.Path)] = true
			}
		}
	}
	if annotated {
		return paths
	}
	// Servers before OPA 1.17 only keep annotations as comments.
	for _, m := range c.Modules {
		commentedEntryPoints(m, paths)
	}
	return paths
}

// commentedEntryPoints adds the paths of a module's rules and package that are
// entry points by its comments. OPA's own parser reads the comments, in a
// module with a short rule in the place of each rule.
func commentedEntryPoints(m *ast.Module, paths map[string]bool) {
	mentions := func(c *ast.Comment) bool { return bytes.Contains(c.Text, []byte("entrypoint")) }
	if m.Package == nil || m.Package.Location == nil || !slices.ContainsFunc(m.Comments, mentions) {
		return
	}
	lines := map[int]string{m.Package.Location.Row: "package p"}
	original := map[string]ast.Ref{"": m.Package.Path}
	for _, r := range m.Rules {
		if r.Location != nil && lines[r.Location.Row] == "" {
			name := fmt.Sprint("r", r.Location.Row)
			lines[r.Location.Row] = name + " := 1"
			original[name] = r.Ref()
		}
	}
	for _, c := range m.Comments {
		if c.Location != nil {
			line := lines[c.Location.Row]
			lines[c.Location.Row] = fmt.Sprintf("%s%*s%s", line, c.Location.Col-len(line), "#", c.Text)
		}
	}
	var text strings.Builder
	for row := range 1 + slices.Max(slices.Collect(maps.Keys(lines))) {
		text.WriteString(lines[row] + "\n")
	}
	short, err := ast.ParseModuleWithOpts("", text.String(), ast.ParserOptions{ProcessAnnotation: true})
	if err != nil {
		return
	}
	for _, a := range short.Annotations {
		if a.Entrypoint {
			_, name, _ := strings.Cut(pathOf(a.GetTargetPath()), "/")
			paths[pathOf(original[name])] = true
		}
	}
}

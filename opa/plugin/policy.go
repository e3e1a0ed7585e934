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
	"sync/atomic"

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

	tier   int
	own    bool      // whether path is the label
	label  string    // the name of the label, or "" if there is none
	result pathLabel // the label itself

	asked atomic.Bool // whether clients have asked for it, if it is merged
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

// labelDocuments gives each document below root its label. This is the
// document's own label, the label of the nearest document above it that has
// one, or "". labelDocuments gives at most room labels. They depend only on the
// policy, so that all servers with the same policy give the same labels.
//
// The most important tiers get labels first. If a tier does not fit,
// mergeDeepest merges some of its documents. A document for which named returns
// a label has that label, and takes no room.
func labelDocuments(root *document, c *ast.Compiler, room int, named func(path string) string) {
	findTiers(root, c)
	var wanted [tiers][]*document
	root.forEach(func(d *document) {
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

// mergeDeepest returns at most room documents. If these get labels, each of the
// given documents has its own label or that of a document above it. If there is
// room, mergeDeepest returns the given documents. Otherwise it merges as few as
// possible of the deepest documents into the documents above them. It begins
// with the document above that has the most members, or with the first one by
// name if several have equally many. It merges the last members by name. Then
// it goes on with the next level. If too many documents are left, for example
// packages that have nothing in common, the last ones by name get no label.
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
		// saved returns the number of labels that merging into a document
		// saves.
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

// entryPointsOf returns the paths that are annotated as entry points. It reads
// the annotations in comments, because not every OPA parses them.
func entryPointsOf(c *ast.Compiler) map[string]bool {
	paths := map[string]bool{}
	for _, m := range c.Modules {
		commentedEntryPoints(m, paths)
	}
	return paths
}

// commentedEntryPoints adds the paths of a module's package and rules that its
// comments annotate as entry points. OPA's own parser reads the comments, in a
// copy of the module that has a short rule in place of each rule.
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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

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

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// Labels of decisions without a path of their own, besides outcome.Query.
const (
	allPaths = "all"           // all decisions, if path labels are off
	rootPath = outcome.AllData // decisions on all documents at once
)

// A label is the value of the label path for a path. It is shared if a document
// of the policy has no label of its own because there is no room.
type label struct {
	name   string
	shared bool
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
	ready map[string]label

	given  map[string]bool // all labels except rollup.Other
	counts *policyPaths    // nil if no policy gives labels
}

// policyPaths counts the paths of a policy's rules by the kind of their label.
type policyPaths struct {
	own, merged, other int
	examples           []string // the paths without a label of their own
}

// listed returns the first paths as text.
func listed(paths []string) string {
	const most = 20
	return strings.Join(paths[:min(len(paths), most)], ", ")
}

// String returns a message about the paths that have no label of their own. It
// returns "" if there are none.
func (c *policyPaths) String() string {
	if c == nil || c.merged+c.other == 0 {
		return ""
	}
	shared := c.merged + c.other
	return fmt.Sprintf("The policy has %d paths, but only %d have a label of their own. %d share the label of a package, and %d are %q. Examples: %s. "+
		"Raise max_paths and max_series, annotate entry points, or name the important paths in paths.allow.",
		c.own+shared, c.own, c.merged, c.other, rollup.Other, listed(c.examples))
}

func newLabels(config *settings, c *ast.Compiler) *labels {
	p := config.Paths
	l := &labels{paths: p, named: namedPaths(p), policy: &document{}, compiler: c, ready: map[string]label{}, given: map[string]bool{}}
	if !p.Enabled {
		l.given[allPaths] = true
		return l
	}
	for _, name := range append(p.labels(), outcome.Query, rootPath) {
		l.given[name] = true
	}
	if p.FromPolicy && c != nil {
		l.policy = policyDocuments(c)
		labelDocuments(l.policy, c, config.MaxPaths-len(p.labels()), l.named.find)
		l.counts = &policyPaths{}
		l.policy.forEach(l.prepare)
		slices.Sort(l.counts.examples)
	}
	return l
}

// prepare makes the label of a document of the policy, and counts its path.
func (l *labels) prepare(d *document) {
	at := label{rollup.Other, d.label != d.path && l.named.find(d.path) == ""}
	if d.label != "" {
		at.name = d.label
		l.given[d.label] = true
	}
	l.ready[d.path] = at
	switch {
	case len(d.rules) == 0:
		return
	case !at.shared:
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
func (l *labels) of(path, query string) (_ label, known bool) {
	if !l.paths.Enabled {
		return label{name: allPaths}, true
	}
	if path != "" && path[0] == '/' {
		path = path[1:]
	}
	if ready, ok := l.ready[path]; ok {
		return ready, true
	}
	if isQuery(path, query) {
		return label{name: outcome.Query}, true
	}
	if first, _ := cutSegment(path); first == "" {
		return label{name: rootPath}, true
	}
	if name := l.named.find(path); name != "" {
		return label{name: name}, true
	}
	if d := l.policy.find(path); d != nil {
		return l.ready[d.path], true
	}
	return label{name: rollup.Other}, false
}

// isQuery reports whether a decision answers an ad-hoc query. A decision of the
// Compile API has a query too, but it also has a path.
func isQuery(path, query string) bool {
	return query != "" && strings.Trim(path, "/") == ""
}

// lost returns those of the labels decided that are the paths of rules here,
// and are not their labels in the labels of a new policy.
func (l *labels) lost(next *labels, decided []string) (paths []string) {
	for _, path := range decided {
		if d := l.policy.find(path); d == nil || d.path != path || len(d.rules) == 0 || d.label != path {
			continue
		}
		if now, _ := next.of(path, ""); now.name != path {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

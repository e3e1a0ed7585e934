// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// The tiers of a policy's documents, in the order in which they get labels
// while there is room.
const (
	entryPoint = iota // annotated as an entry point
	usual             // a rule with a default, or with one of usualNames
	verdict           // a rule that no other depends on, and whose value says whether something is allowed
	askedFor          // another rule that no other depends on
	container         // a package, or the common beginning of packages
	condition         // a rule that others depend on, with such a value
	helper            // another rule that others depend on
	constant          // a rule whose value is always the same

	tiers
)

// usualNames are the names that most policies give to what clients ask for.
var usualNames = []string{"allow", "allowed", "deny", "violation", "decision", "response", "main", "result"}

// findTiers sets the tier of each document.
func findTiers(root *document, c *ast.Compiler) {
	entryPoints := entryPointsOf(c)
	home := map[*ast.Rule]*document{}
	root.forEach(func(d *document) {
		for _, r := range d.rules {
			home[r] = d
		}
	})
	// hasDependents reports whether rules of other documents depend on this
	// document. Tests do not count.
	hasDependents := func(d *document) bool {
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
	root.forEach(func(d *document) {
		switch {
		case entryPoints[d.path]:
			d.tier = entryPoint
		case len(d.rules) == 0:
			d.tier = container
		case slices.Contains(usualNames, path.Base(d.path)) || slices.ContainsFunc(d.rules, func(r *ast.Rule) bool { return r.Default }):
			d.tier = usual
		case !slices.ContainsFunc(d.rules, dependsOnBody):
			d.tier = constant
		default:
			d.tier = askedFor
			if hasDependents(d) {
				d.tier = helper
			}
			//nolint:staticcheck // OPA 1.0 has only Get
			if c.TypeEnv != nil && isVerdict(c.TypeEnv.Get(d.rules[0].Ref().GroundPrefix())) {
				d.tier-- // before other rules
			}
		}
	})
}

// dependsOnBody reports whether a rule is not a plain constant. The compiler
// moves everything that must be evaluated from the head to the body.
func dependsOnBody(r *ast.Rule) bool {
	isTrue := len(r.Body) == 1 && r.Body[0].Equal(ast.NewExpr(ast.BooleanTerm(true)))
	return !isTrue || !r.Head.Ref().IsGround() || r.Head.Key != nil && !r.Head.Key.IsGround()
}

// isVerdict reports whether values of a type say whether something is allowed.
// These are booleans, and objects with a field that has one of usualNames.
func isVerdict(t types.Type) bool {
	switch t := t.(type) {
	case types.Boolean:
		return true
	case types.Any:
		return slices.ContainsFunc(t, isVerdict)
	case *types.Object:
		return slices.ContainsFunc(t.StaticProperties(), func(p *types.StaticProperty) bool {
			name, _ := p.Key.(string)
			return slices.Contains(usualNames, name)
		})
	}
	return false
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

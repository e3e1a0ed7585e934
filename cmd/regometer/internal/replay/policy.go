// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/loader"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
)

// A Policy is rules and data that can be evaluated. Several goroutines may
// evaluate one.
type Policy struct {
	compiler  *ast.Compiler
	store     storage.Store
	revisions []string            // of its bundles
	sources   map[string][]string // the lines of the modules, by file
	// asksRuntime says that it calls opa.runtime.
	asksRuntime bool

	rules    []rule
	numbers  map[*ast.Rule]int
	builtins map[*ast.Term]string // the names of built-in functions that rules call, by operator
}

// A rule is a definition of a rule, as one of several, or an else.
type rule struct {
	Source
	rows []int // of its expressions, sorted
}

// Load loads files, folders and bundles, and the bundles of a configuration, as
// an OPA server does. Without network, built-in functions get no connection. It
// does not check the signatures of bundles.
func Load(ctx context.Context, paths []string, opa config.Config, network bool) (*Policy, error) {
	// A server reads all modules as v1, or with --v0-compatible as v0.
	p, err := load(ctx, paths, opa, network, ast.RegoV1)
	if err != nil {
		if old, second := load(ctx, paths, opa, network, ast.RegoV0); second == nil {
			return old, nil
		}
	}
	return p, err
}

func load(ctx context.Context, paths []string, opa config.Config, network bool, version ast.RegoVersion) (*Policy, error) {
	p := &Policy{sources: map[string][]string{}}
	bundles, modules := map[string]*bundle.Bundle{}, map[string]*ast.Module{}
	read := func() loader.FileLoader {
		return loader.NewFileLoader().WithRegoVersion(version).WithSkipBundleVerification(true).WithProcessAnnotation(true).WithFollowSymlinks(true)
	}
	var files []string
	for _, path := range paths {
		if !isBundle(path) {
			files = append(files, path)
			continue
		}
		b, err := read().AsBundle(path)
		if err != nil {
			return nil, err
		}
		bundles[path] = b
	}
	err := collect.EachBundle(ctx, opa, func(name string, content io.Reader) (err error) {
		bundles[name], err = read().WithReader(content).AsBundle(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Kubernetes mounts the files of a ConfigMap in a folder that begins with two
	// dots, and links to them.
	rest, err := read().Filtered(files, func(_ string, info fs.FileInfo, depth int) bool {
		return depth > 0 && strings.HasPrefix(info.Name(), "..")
	})
	if err != nil {
		return nil, err
	}
	for name, file := range rest.Modules {
		modules[name] = file.Parsed
		p.sources[file.Parsed.Package.Location.File] = linesOf(file.Raw)
	}
	for _, b := range bundles {
		for _, m := range b.Modules {
			p.sources[m.Parsed.Package.Location.File] = linesOf(m.Raw)
		}
		if b.Manifest.Revision != "" {
			p.revisions = append(p.revisions, b.Manifest.Revision)
		}
	}
	if len(p.sources) == 0 {
		return nil, errors.New("there are no Rego files: name them with --policy, or their bundles in --config")
	}
	can := ast.CapabilitiesForThisVersion()
	if !network {
		can.AllowNet = []string{}
	}
	p.store = inmem.NewFromObject(rest.Documents)
	p.compiler = ast.NewCompiler().WithDefaultRegoVersion(version).WithCapabilities(can)
	err = storage.Txn(ctx, p.store, storage.WriteParams, func(txn storage.Transaction) error {
		return bundle.Activate(&bundle.ActivateOpts{
			Ctx: ctx, Store: p.store, Txn: txn, Compiler: p.compiler, Metrics: metrics.New(),
			Bundles: bundles, ExtraModules: modules, ParserOptions: ast.ParserOptions{RegoVersion: version},
		})
	})
	if err != nil {
		return nil, err
	}
	p.asksRuntime = slices.ContainsFunc(p.compiler.Required.Builtins, func(b *ast.Builtin) bool { return b.Name == ast.OPARuntime.Name })
	p.number()
	return p, nil
}

func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// number numbers the rules, in the order of their files and lines.
func (p *Policy) number() {
	p.numbers, p.builtins = map[*ast.Rule]int{}, map[*ast.Term]string{}
	var all []*ast.Rule
	for _, m := range p.compiler.Modules {
		ast.WalkRules(m, func(r *ast.Rule) bool {
			all = append(all, r)
			return false
		})
	}
	slices.SortFunc(all, func(a, b *ast.Rule) int { return a.Location.Compare(b.Location) })
	for i, r := range all {
		p.numbers[r] = i
		x := rule{Source: Source{r.Ref().GroundPrefix().String(), r.Location.File, r.Location.Row}}
		ast.WalkExprs(r.Body, func(e *ast.Expr) bool {
			if e.Location != nil {
				x.rows = append(x.rows, e.Location.Row)
			}
			// An operator takes less time than to measure it.
			if b := ast.BuiltinMap[e.Operator().String()]; b != nil && b.Infix == "" {
				p.builtins[e.OperatorTerm()] = b.Name
			}
			return false
		})
		slices.Sort(x.rows)
		x.rows = slices.Compact(x.rows)
		p.rules = append(p.rules, x)
	}
}

// builtin returns the name of the built-in function that an expression calls, or
// "".
func (p *Policy) builtin(e *ast.Expr) string { return p.builtins[e.OperatorTerm()] }

// isBundle reports whether a path leads to a bundle: a tarball, or a folder with
// a manifest.
func isBundle(path string) bool {
	if strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, bundle.ManifestExt))
	return err == nil
}

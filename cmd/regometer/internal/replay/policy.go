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
	builtins    map[*ast.Term]string // the names of built-in functions that rules call, by operator
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

func load(ctx context.Context, paths []string, opa config.Config, network bool, version ast.RegoVersion) (_ *Policy, err error) {
	p := &Policy{sources: map[string][]string{}, builtins: map[*ast.Term]string{}}
	bundles := map[string]*bundle.Bundle{}
	read := func() loader.FileLoader {
		return loader.NewFileLoader().WithRegoVersion(version).WithSkipBundleVerification(true).WithProcessAnnotation(true).WithFollowSymlinks(true)
	}
	var files []string
	for _, path := range paths {
		if !isBundle(path) {
			files = append(files, path)
		} else if bundles[path], err = read().AsBundle(path); err != nil {
			return nil, err
		}
	}
	err = collect.EachBundle(ctx, opa, func(name string, content io.Reader) (err error) {
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
	for _, file := range rest.Modules {
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
			Bundles: bundles, ExtraModules: rest.ParsedModules(), ParserOptions: ast.ParserOptions{RegoVersion: version},
		})
	})
	if err != nil {
		return nil, err
	}
	p.asksRuntime = slices.ContainsFunc(p.compiler.Required.Builtins, func(b *ast.Builtin) bool { return b.Name == ast.OPARuntime.Name })
	for _, m := range p.compiler.Modules {
		ast.WalkExprs(m, func(e *ast.Expr) bool {
			// An operator takes less time than to measure it.
			if b := ast.BuiltinMap[e.Operator().String()]; b != nil && b.Infix == "" {
				p.builtins[e.OperatorTerm()] = b.Name
			}
			return false
		})
	}
	return p, nil
}

// isOther reports whether none of a decision's revisions, which are written as
// name=revision, is one of the policy's. Only bundles have revisions.
func (p *Policy) isOther(revisions []byte) bool {
	all := "," + string(revisions) + ","
	return len(p.revisions) > 0 && len(revisions) > 0 && !slices.ContainsFunc(p.revisions, func(r string) bool {
		return strings.Contains(all, "="+r+",") || strings.Contains(all, ","+r+",")
	})
}

func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// isBundle reports whether a path leads to a bundle: a tarball, or a folder with
// a manifest.
func isBundle(path string) bool {
	_, err := os.Stat(filepath.Join(path, bundle.ManifestExt))
	return err == nil || strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz")
}

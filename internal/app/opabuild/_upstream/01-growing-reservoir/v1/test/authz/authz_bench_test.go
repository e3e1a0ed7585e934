// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/disk"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"testing"
)

// BenchmarkAuthzInstrumented evaluates as a request with ?instrument=true does.
func BenchmarkAuthzInstrumented(b *testing.B) {
	runAuthzBenchmarkWith(b, Allow, 10, false, func() []rego.EvalOption {
		return []rego.EvalOption{rego.EvalMetrics(metrics.New()), rego.EvalInstrument(true)}
	})
}

func runAuthzBenchmark(b *testing.B, mode InputMode, numPaths int, extras ...bool) {
	useDisk := len(extras) > 0 && extras[0]
	runAuthzBenchmarkWith(b, mode, numPaths, useDisk, func() []rego.EvalOption { return nil })
}

func runAuthzBenchmarkWith(b *testing.B, mode InputMode, numPaths int, useDisk bool, evalOptions func() []rego.EvalOption) {
	profile := DataSetProfile{
		NumTokens: 1000,
		NumPaths:  numPaths,
	}

	ctx := b.Context()
	data := GenerateDataset(profile)

	var store storage.Store
	if useDisk {
		var err error
		if store, err = disk.New(ctx, logging.NewNoOpLogger(), nil, disk.Options{Dir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}

		if err = storage.WriteOne(ctx, store, storage.AddOp, storage.RootPath, data); err != nil {
			b.Fatal(err)
		}
	} else {
		store = inmem.NewFromObjectWithOpts(data)
	}

	compiler := ast.NewCompiler()
	if compiler.Compile(map[string]*ast.Module{"": ast.MustParseModule(Policy)}); compiler.Failed() {
		b.Fatalf("Unexpected error(s): %v", compiler.Errors)
	}

	r := rego.New(
		rego.Compiler(compiler),
		rego.Store(store),
		rego.Transaction(storage.NewTransactionOrDie(ctx, store)),
		rego.Query(AllowQuery),
	)

	pq, err := r.PrepareForEval(ctx)
	if err != nil {
		b.Fatalf("Unexpected error(s): %v", err)
	}

	input, expected := GenerateInput(profile, mode)

	inputAST, err := ast.InterfaceToValue(input)
	if err != nil {
		b.Fatal(err)
	}

	for b.Loop() {
		rs, err := pq.Eval(ctx, append(evalOptions(), rego.EvalParsedInput(inputAST))...)
		if err != nil {
			b.Fatalf("Unexpected error(s): %v", err)
		}

		if rs.Allowed() != expected {
			b.Fatalf("Unexpected result: %v", rs)
		}
	}
}

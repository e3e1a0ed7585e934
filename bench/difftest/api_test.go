// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"os"
	"testing"
)

// TestExportedAPI: every exported name of OPA's package is there, with the same
// type, the same value if it is a constant and the same methods and fields. The
// package opa/metrics has the same names. Beside the series, that module is not
// at hand.
func TestExportedAPI(t *testing.T) {
	ours := typesOf(t, "github.com/regometer/regometer/metrics")
	opas := typesOf(t, "github.com/open-policy-agent/opa/v1/metrics")
	forwarded := opas
	if os.Getenv("REGOMETER_UPSTREAM_STEPS") == "" {
		forwarded = typesOf(t, "github.com/regometer/regometer/opa/metrics")
	}
	compared := 0
	for _, name := range opas.Scope().Names() {
		if !ast.IsExported(name) {
			continue
		}
		compared++
		want, got := opas.Scope().Lookup(name), ours.Scope().Lookup(name)
		if got == nil || forwarded.Scope().Lookup(name) == nil {
			t.Errorf("%s is missing in metrics or in opa/metrics", name)
			continue
		}
		if got, want := describe(got), describe(want); got != want {
			t.Errorf("%s is\n%s\nOPA's\n%s", name, got, want)
		}
	}
	if compared < 25 {
		t.Errorf("only %d names of OPA's package were found", compared)
	}
}

// typesOf type-checks a package from its source.
func typesOf(t *testing.T, path string) *types.Package {
	t.Helper()
	checked, err := importer.ForCompiler(token.NewFileSet(), "source", nil).Import(path)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// describe prints the parts of an object that a user of the package can see,
// without the package's path.
func describe(object types.Object) string {
	qualifier := func(p *types.Package) string {
		if p == object.Pkg() {
			return ""
		}
		return p.Path()
	}
	text := types.ObjectString(object, qualifier)
	switch o := object.(type) {
	case *types.Const:
		// ObjectString shortens long values.
		text += " = " + constant.ToInt(o.Val()).ExactString() + o.Val().ExactString()
	case *types.TypeName:
		text += "\n" + types.TypeString(o.Type().Underlying(), qualifier)
		if o.IsAlias() {
			text += " (alias)"
		}
		methods := types.NewMethodSet(o.Type())
		for i := range methods.Len() {
			text += "\n" + types.SelectionString(methods.At(i), qualifier)
		}
	case *types.Func:
		// Names of parameters do not belong to the API.
		signature := o.Signature()
		text = types.TypeString(types.NewSignatureType(nil, nil, nil, unnamed(signature.Params()), unnamed(signature.Results()), signature.Variadic()), qualifier)
	}
	return text
}

func unnamed(t *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range t.Variables() {
		vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
	}
	return types.NewTuple(vars...)
}

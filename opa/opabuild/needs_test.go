// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// What OPA has and does not use is not missing.
func TestCheckNeeds(t *testing.T) {
	files := opaTree()
	files["v1/metrics/more.go"] = "package metrics\n\nconst Name = \"name\"\n\nfunc More(Timer) {}\n"
	files["internal/unused/unused.go"] = "package unused\n\nimport \"github.com/open-policy-agent/opa/v1/metrics\"\n\nvar _ = metrics.Name\n"
	d := tinyDropIn("x")
	d["clock_test.go"] = []byte("package metrics_test\n") // is no part of the package
	if err := checkNeeds(t.Context(), "OPA", writeTree(t, files), d, target()); err != nil {
		t.Error(err)
	}
}

// The tree of this test needs a constant, a method and a field that the
// drop-in lacks, and has a function and a method with other types than the
// drop-in; it does not need Unused.
func TestCheckNeedsMissing(t *testing.T) {
	files := opaTree()
	files["v1/metrics/metrics.go"] = `package metrics

const Name = "name"

type Info struct{ Kind, Unused int }

type Timer interface {
	Stop(n int64) (who string)
	Reset()
	Unused()
}

func New(a, b string) Timer { return nil }

func Unused() {}
`
	// The v0 package hands names on; a timer is used by a package that
	// imports neither, through a field and a function of the standard
	// library that this check does not know.
	files["metrics/metrics.go"] = "package metrics\n\nimport v1 \"github.com/open-policy-agent/opa/v1/metrics\"\n\ntype Timer = v1.Timer\n\nconst Name = v1.Name\n"
	files["internal/user/user.go"] = `package user

import (
	"strings"

	"github.com/open-policy-agent/opa/internal/holder"
	"github.com/open-policy-agent/opa/metrics"
	v1 "github.com/open-policy-agent/opa/v1/metrics"
)

func Use() string {
	var h holder.Holder
	h.T = v1.New("a", "b")
	return strings.ToUpper(h.Run(v1.Info{Kind: 1}, metrics.Name))
}
`
	files["internal/holder/holder.go"] = `package holder

import "github.com/open-policy-agent/opa/metrics"

type Holder struct{ T metrics.Timer }
`
	files["internal/holder/run.go"] = `package holder

func (h Holder) Run(any, string) string {
	h.T.Reset()
	return h.T.Stop(1)
}
`
	files["v1/metrics/sample.go"] = "package metrics\n"
	err := checkNeeds(t.Context(), "OPA", writeTree(t, files), tinyDropIn("x"), target())
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v, want a *MissingError", err)
	}
	want := []string{
		"metrics.Info, needed at internal/user/user.go:14",
		"metrics.Info.Kind, needed at internal/user/user.go:14",
		"metrics.Name, needed at metrics/metrics.go:7",
		"metrics.New as func(string, string) metrics.Timer (the drop-in has func(string) metrics.Timer), needed at internal/user/user.go:13",
		"metrics.Timer.Reset, needed at internal/holder/run.go:4",
		"metrics.Timer.Stop as func(int64) string (the drop-in has func(int) string), needed at internal/holder/run.go:5",
	}
	if got := strings.Join(missing.Names, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func target() map[string]string {
	return map[string]string{"GOOS": runtime.GOOS, "GOARCH": runtime.GOARCH}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"
	bundleplugin "github.com/open-policy-agent/opa/v1/plugins/bundle"
)

// TestRevisions: only the active revision of a bundle is exported, with a label
// of bounded length, and only if OPA does not export it itself.
func TestRevisions(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[bundle.Bundle]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = bundle.NewWriter(w).Write(*current.Load())
	}))
	t.Cleanup(service.Close)
	for _, prometheus := range []string{"false", "true"} {
		config := `
services: {s: {url: '` + service.URL + `'}}
bundles: {policy: {service: s, resource: /b, trigger: manual}}
decision_logs: {plugin: regometer}
plugins: {regometer: {}}
status: {prometheus: ` + prometheus + `, console: true}`
		o := startOPA(t, config, nil)
		o.check("opa_policy_info")
		for _, revision := range []string{"one", "two", strings.Repeat("a", 63) + "é"} {
			roots := []string{"data"}
			current.Store(&bundle.Bundle{Data: map[string]any{"data": revision}, Manifest: bundle.Manifest{Revision: revision, Roots: &roots}})
			if err := bundleplugin.Lookup(o.Manager).Trigger(t.Context()); err != nil {
				t.Fatal(err)
			}
			var want []string
			if prometheus == "false" {
				want = append(want, `opa_policy_info{bundle="policy",revision="`+strings.TrimSuffix(revision, "é")+`"} 1`)
			}
			o.check("opa_policy_info", want...)
		}
	}
}

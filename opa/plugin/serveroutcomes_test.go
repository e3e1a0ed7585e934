// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/runtime"
	"github.com/open-policy-agent/opa/v1/version"
)

// TestServerOutcomes: what an OPA server answers has these outcomes, by the
// usual rules, by rules in the configuration, and for calls that time out. Only
// errors that not any client can cause count as errors.
func TestServerOutcomes(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	send := fmt.Sprintf(`http.send({"method": "GET", "url": "http://%s", "timeout": "20ms"})`, silent.Addr())
	const config = `
decision_logs: {plugin: regometer}
plugins:
  regometer:
    outcomes:
      app/main: result.granted
      app/quota: not result.reasons
      "tenants/*/check": result.effect == "permit"
`
	o := startOPA(t, config, func(p *runtime.Params) {
		file := filepath.Join(t.TempDir(), "outcomes.rego")
		write(t, file, `package app

allow := input.user == "alice"

deny contains "no user" if not input.user

authzen := {"decision": allow, "context": {"id": "1"}}

main := {"granted": allow}

quota := {"reasons": [r | some r in input.reasons]}

review := {"apiVersion": "admission.k8s.io/v1", "response": {"allowed": allow}}

conflict := 1 if input.user

conflict := 2 if input.user

called if `+send+`.status_code == 200

default guarded := false

guarded if `+send+`.status_code == 200

function(x) := x
`)
		check := filepath.Join(t.TempDir(), "check.rego")
		write(t, check, "package tenants.acme.check\neffect := input.effect")
		p.Paths = append(p.Paths, file, check)
	})
	unparsable := "undefined"
	errors := []string{`opa_decision_errors_total{code="eval_builtin_error"} 1`, `opa_decision_errors_total{code="eval_conflict_error"} 1`}
	if strings.HasPrefix(version.Version, "1.0.") { // its code is that of an invalid policy
		unparsable, errors = "error", append(errors, `opa_decision_errors_total{code="rego_parse_error"} 1`)
	}
	counted := map[string]int{}
	for _, r := range []struct {
		path, body string
		status     int
		outcome    string // path and outcome
	}{
		{"app/allow", `{"input":{"user":"alice"}}`, 200, "app/allow allowed"},
		{"app/deny", `{"input":{"user":"alice"}}`, 200, "app/deny allowed"},
		{"app/deny", `{"input":{}}`, 200, "app/deny denied"},
		{"app/authzen", `{"input":{"user":"alice"}}`, 200, "app/authzen allowed"},
		{"app/authzen", `{"input":{"user":"bob"}}`, 200, "app/authzen denied"},
		{"app/review", `{"input":{"user":"bob"}}`, 200, "app/review denied"},
		{"app/main", `{"input":{"user":"alice"}}`, 200, "app/main allowed"},
		{"app/main", `{"input":{"user":"bob"}}`, 200, "app/main denied"},
		{"app/quota", `{"input":{"reasons":[]}}`, 200, "app/quota allowed"},
		{"app/quota", `{"input":{"reasons":["x"]}}`, 200, "app/quota denied"},
		{"tenants/acme/check", `{"input":{"effect":"permit"}}`, 200, "tenants/acme/check allowed"},
		{"tenants/acme/check", `{"input":{"effect":"forbid"}}`, 200, "tenants/acme/check denied"},
		{"tenants/acme/check", `{"input":{}}`, 200, "tenants/acme/check result"},
		{"app/called", `{"input":{}}`, 200, "app/called undefined"},
		{"app/guarded", `{"input":{}}`, 200, "app/guarded denied"},
		{"app/called?strict-builtin-errors", `{"input":{}}`, 500, "app/called error"},
		{"app/conflict", `{"input":{"user":"alice"}}`, 500, "app/conflict error"},
		{"app/allow/x", `{"input":{"user":"alice"}}`, 500, "app/allow undefined"},
		{"app/main/else/0", `{"input":{"user":"alice"}}`, 500, "app/main undefined"},
		{"app/allow/%22", `{"input":{"user":"alice"}}`, 500, "app/allow " + unparsable},
		{"app/function", `{"input":{}}`, 500, "other undefined"},
	} {
		if status, text := o.do(http.MethodPost, "/v1/data/"+r.path, r.body); status != r.status {
			t.Errorf("%s: %d %s, want %d", r.path, status, text, r.status)
		}
		counted[r.outcome]++
	}
	var want []string
	for outcome, n := range counted {
		path, name, _ := strings.Cut(outcome, " ")
		want = append(want, fmt.Sprintf("opa_decisions_total{outcome=%q,path=%q} %d", name, path, n))
	}
	o.check("opa_decisions_total{", want...)
	if len(o.series(`opa_decision_http_send_failures_total{cause="timeout"}`)) == 0 { // package register counts them
		t.Error("no request of http.send has timed out")
	}
	o.check("opa_decision_errors_total", errors...)
}

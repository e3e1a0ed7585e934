// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"fmt"

	"github.com/regometer/regometer/rollup"
)

// A profile is what decisions of a path are like.
type profile struct {
	name    string
	results []result // each as likely as the others
	// Of 1,024 decisions so many are undefined, and fail.
	undefined, failed uint64
	input             bool // whether there is an input
	httpSend          bool // whether the policy calls http.send

	eval lognormal // of the policy's own work
}

// result is a result and what it amounts to.
type result struct {
	json    string
	outcome rollup.Outcome
}

// Times of stages that all paths have alike. The whole of evaluation, and of
// the handler, is its own time and that of what it contains.
var (
	inputParseTime = newLognormal(18_000, 500) // of the least input
	queryParseTime = newLognormal(20_000, 400)
	compileTime    = newLognormal(85_000, 400)
	resolveTime    = newLognormal(250, 500)
	cachedTime     = newLognormal(4_000, 500)     // http.send from its cache
	networkTime    = newLognormal(2_500_000, 900) // http.send otherwise
	handlerTime    = newLognormal(30_000, 700)    // outside of all stages
)

// boolean returns yes times true among all results.
func boolean(yes, all int) (results []result) {
	for i := range all {
		if i < yes {
			results = append(results, result{"true", rollup.Allowed})
		} else {
			results = append(results, result{"false", rollup.Denied})
		}
	}
	return results
}

// profiles are those of the first paths, the most frequent first.
var profiles = []profile{
	{name: "httpapi/authz/allow", input: true, undefined: 2, failed: 1,
		eval: newLognormal(60_000, 1000), results: boolean(6, 7)},
	{name: "kubernetes/admission/deny", input: true, undefined: 0, failed: 1,
		eval: newLognormal(400_000, 800), results: []result{
			{`[]`, rollup.OtherResult},
			{`[]`, rollup.OtherResult},
			{`["image 'registry.example.com/team-a/web:latest' has no digest"]`, rollup.OtherResult},
		}},
	{name: "envoy/authz/allow", input: true, undefined: 4, failed: 1,
		eval: newLognormal(90_000, 900), results: []result{
			{`{"allowed":true,"headers":{"x-user":"alice"}}`, rollup.Allowed},
			{`{"allowed":true,"headers":{"x-user":"bob"},"response_headers_to_add":{}}`, rollup.Allowed},
			{`{"allowed":false,"body":"no \"metrics\" for you","http_status":403}`, rollup.Denied},
		}},
	{name: "rbac/allow", input: true, undefined: 40, failed: 2,
		eval: newLognormal(35_000, 700), results: boolean(3, 5)},
	{name: "payments/limits/decision", input: true, failed: 8, httpSend: true,
		eval: newLognormal(120_000, 800), results: []result{
			{`{"allow":true,"reasons":[]}`, rollup.Allowed},
			{`{"allow":false,"reasons":["above the daily limit of 10,000 €"]}`, rollup.Denied},
			{`{"allow":true,"deny":[]}`, rollup.Allowed},
			{`{"allow":true,"deny":["the account is suspended"]}`, rollup.Denied},
		}},
	{name: "trino/allow", input: true, failed: 1,
		eval: newLognormal(25_000, 600), results: boolean(15, 16)},
	{name: "terraform/analysis/score", input: true, failed: 2,
		eval: newLognormal(1_500_000, 900), results: []result{{`42`, rollup.OtherResult}, {`7`, rollup.OtherResult}}},
	{name: "kafka/authz/allow", input: true, undefined: 8, failed: 1,
		eval: newLognormal(45_000, 700), results: boolean(9, 10)},
	{name: "features/flags", input: true, undefined: 200, failed: 0,
		eval: newLognormal(15_000, 600), results: []result{
			{`{"beta":true,"dark":false}`, rollup.OtherResult},
			{`null`, rollup.OtherResult},
		}},
	{name: rollup.Query, failed: 20, undefined: 0,
		eval: newLognormal(50_000, 900), results: []result{
			{`[{"user":"alice"},{"user":"bob"}]`, rollup.OtherResult},
			{`[]`, rollup.Undefined},
			{`null`, rollup.Undefined},
		}},
	{name: allData, failed: 1, eval: newLognormal(200_000, 500), results: []result{
		{`{"path":"roles/are/no/path","roles":{"alice":["admin"]}}`, rollup.OtherResult}}},
	{name: "system/main", input: true, undefined: 100, failed: 4,
		eval: newLognormal(300_000, 800), results: []result{
			{`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":""}}`, rollup.OtherResult},
		}},
}

// allData is the path of the whole document.
const allData = rollup.AllData

// profileOf returns the profile of the path at an index. Paths beyond those
// that have a profile of their own are tenants', whose policies differ.
func profileOf(at int) *profile {
	if at < len(profiles) {
		return &profiles[at]
	}
	p := profiles[[...]int{0, 3, 5, 7}[at%4]]
	p.name = pathName(at)
	p.eval.median += int64(at%9-4) * logOne / 4
	return &p
}

func pathName(at int) string {
	if at < len(profiles) {
		return profiles[at].name
	}
	return fmt.Sprintf("tenants/t%06d/%s/allow", at, [...]string{"documents", "invoices", "users"}[at%3])
}

// PathNames returns the names of the first n paths, the most frequent first.
func PathNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = pathName(i)
	}
	return names
}

// has reports whether decisions of the path have a stage.
func (p *profile) has(s stage) bool {
	switch s {
	case evalPlug, evalRuleIndex:
		return false // by chance only
	case httpSend:
		return p.httpSend
	case inputParse:
		return p.input
	case handler:
		return p.name != rollup.Query
	default:
		return true
	}
}

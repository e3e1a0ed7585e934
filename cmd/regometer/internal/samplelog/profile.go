// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/outcome"
)

// A profile describes the decisions of a path.
type profile struct {
	path              string
	undefined, failed int       // of 1,024 decisions
	eval              lognormal // the policy's own work
	input, httpSend   bool      // whether there is an input, a call of http.send
	results           []result  // all equally likely
}

// result is a result and its outcome.
type result struct {
	json    string
	outcome outcome.Outcome
}

// The durations of the stages, the same for all paths. The evaluation and the
// handler also take the time of the stages in them.
var (
	inputParseTime = newLognormal(18_000, 500) // of the least input
	queryParseTime = newLognormal(20_000, 400)
	compileTime    = newLognormal(85_000, 400)
	resolveTime    = newLognormal(250, 500)
	cachedTime     = newLognormal(4_000, 500)     // http.send from its cache
	networkTime    = newLognormal(2_500_000, 900) // http.send otherwise
	handlerTime    = newLognormal(30_000, 700)    // outside of all stages
)

// boolean returns all results. The first yes of them are true.
func boolean(yes, all int) []result {
	return append(slices.Repeat([]result{{"true", outcome.Allowed}}, yes), slices.Repeat([]result{{"false", outcome.Denied}}, all-yes)...)
}

// profiles are the profiles of the first paths, the most frequent path first.
var profiles = []profile{
	{"httpapi/authz/allow", 2, 1, newLognormal(60_000, 1000), true, false, boolean(6, 7)},
	{"kubernetes/admission/deny", 0, 1, newLognormal(400_000, 800), true, false, []result{
		{"[]", outcome.Allowed},
		{"[]", outcome.Allowed},
		{`["image 'registry.example.com/team-a/web:latest' has no digest"]`, outcome.Denied},
	}},
	{"envoy/authz/allow", 4, 1, newLognormal(90_000, 900), true, false, []result{
		{`{"allowed":true,"headers":{"x-user":"alice"}}`, outcome.Allowed},
		{`{"allowed":true,"headers":{"x-user":"bob"},"response_headers_to_add":{}}`, outcome.Allowed},
		{`{"allowed":false,"body":"no \"metrics\" for you","http_status":403}`, outcome.Denied},
	}},
	{"rbac/allow", 40, 2, newLognormal(35_000, 700), true, false, boolean(3, 5)},
	{"payments/limits/decision", 0, 8, newLognormal(120_000, 800), true, true, []result{
		{`{"allow":true,"reasons":[]}`, outcome.Allowed},
		{`{"allow":false,"reasons":["above the daily limit of 10,000 €"]}`, outcome.Denied},
		{`{"allow":true,"deny":[]}`, outcome.Allowed},
		{`{"allow":true,"deny":["the account is suspended"]}`, outcome.Denied},
	}},
	{"trino/allow", 0, 1, newLognormal(25_000, 600), true, false, boolean(15, 16)},
	{"terraform/analysis/score", 0, 2, newLognormal(1_500_000, 900), true, false, []result{
		{"42", outcome.Neither},
		{"7", outcome.Neither},
	}},
	{"kafka/authz/allow", 8, 1, newLognormal(45_000, 700), true, false, boolean(9, 10)},
	{"features/flags", 200, 0, newLognormal(15_000, 600), true, false, []result{
		{`{"beta":true,"dark":false}`, outcome.Neither},
		{"null", outcome.Undefined},
	}},
	{outcome.Query, 0, 20, newLognormal(50_000, 900), false, false, []result{
		{`[{"user":"alice"},{"user":"bob"}]`, outcome.Neither},
		{"[]", outcome.Undefined},
		{"null", outcome.Undefined},
	}},
	{outcome.AllData, 0, 1, newLognormal(200_000, 500), false, false, []result{
		{`{"path":"roles/are/no/path","roles":{"alice":["admin"]}}`, outcome.Neither},
	}},
	{"system/main", 100, 4, newLognormal(300_000, 800), true, false, []result{
		{`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":""}}`, outcome.Allowed},
	}},
}

// firstPathStages lists the stages of each decision of the first path.
var firstPathStages = strings.Fields("rego_external_resolve rego_input_parse rego_query_compile rego_query_eval rego_query_parse server_handler")

// profileOf returns the profile of the path at an index. Paths beyond profiles
// belong to tenants, whose policies differ.
func profileOf(at int) *profile {
	if at < len(profiles) {
		return &profiles[at]
	}
	p := profiles[[...]int{0, 3, 5, 7}[at%4]]
	p.path = fmt.Sprintf("tenants/t%06d/%s/allow", at, [...]string{"documents", "invoices", "users"}[at%3])
	p.eval.median += int64(at%9-4) * logOne / 4
	return &p
}

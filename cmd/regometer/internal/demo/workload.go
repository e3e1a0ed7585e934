// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// request is one HTTP request of the workload, with what it must lead to.
type request struct {
	path         string // path and query of the URL
	body         string
	want         outcome
	showMetrics  bool // ?metrics=true: the answer carries the decision's metrics
	instrumented bool // ?instrument=true
}

// wantStatus is the HTTP status that an answer must have.
func (r request) wantStatus() int {
	switch r.want {
	case malformed:
		return http.StatusBadRequest
	case failed:
		return http.StatusInternalServerError
	default:
		return http.StatusOK
	}
}

// isQuery reports whether the request is a POST /v1/query.
func (r request) isQuery() bool { return strings.HasPrefix(r.path, "/v1/query") }

// workload is an endless, varied sequence of requests to the example policy.
// It depends on the seed alone. It comes in blocks of blockSize requests, each
// of which holds the same mixture in another order, so that any two blocks
// are the same work.
type workload struct {
	rng     *rand.Rand
	started bool
}

const blockSize = 100

// noRules is a path that the policy has no rules for.
const noRules = "rbac/quota"

func newWorkload(seed uint64) *workload {
	return &workload{rng: rand.New(rand.NewPCG(seed, 0))}
}

// blocks returns the requests of the next n blocks.
func (w *workload) blocks(n int) []request {
	requests := make([]request, 0, n*blockSize)
	for range n {
		block := w.block()
		if !w.started {
			// The server compiles a path's query at its first request. An
			// instrumented compilation would add twenty rows to the stages.
			slices.SortStableFunc(block, func(a, b request) int {
				switch {
				case a.instrumented == b.instrumented:
					return 0
				case b.instrumented:
					return -1
				default:
					return 1
				}
			})
			w.started = true
		}
		requests = append(requests, block...)
	}
	return requests
}

func (w *workload) block() []request {
	block := make([]request, 0, blockSize)
	for _, part := range mixture {
		for range part.count {
			block = append(block, part.next(w.rng))
		}
	}
	w.rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
	return block
}

// mixture is what a block consists of. The counts add up to blockSize.
var mixture = []struct {
	count int
	next  func(*rand.Rand) request
}{
	{32, func(r *rand.Rand) request { return ask(r, "rbac/allow", granted, allowed) }},
	{18, func(r *rand.Rand) request { return ask(r, "rbac/allow", refused, denied) }},
	{10, func(r *rand.Rand) request { return ask(r, "rbac/decision", granted, allowed) }},
	{5, func(r *rand.Rand) request { return ask(r, "rbac/decision", refused, denied) }},
	{3, func(r *rand.Rand) request {
		q := ask(r, "rbac/allow?metrics=true", granted, allowed)
		q.showMetrics = true
		return q
	}},
	{4, func(r *rand.Rand) request {
		return instrumented(ask(r, "rbac/decision?instrument=true", granted, allowed))
	}},
	{2, func(r *rand.Rand) request {
		return instrumented(ask(r, "rbac/decision?instrument=true", refused, denied))
	}},
	{3, func(*rand.Rand) request {
		return request{path: "/v1/data/rbac/on_call", body: `{"input":{"user":"` + onCallUser + `"}}`, want: allowed}
	}},
	{2, func(*rand.Rand) request {
		return request{path: "/v1/data/rbac/on_call", body: `{"input":{"user":"dave"}}`, want: undefined}
	}},
	{4, func(r *rand.Rand) request { return ask(r, noRules, granted, undefined) }},
	{3, func(r *rand.Rand) request { return ask(r, "rbac/permissions", granted, unjudged) }},
	{2, func(r *rand.Rand) request { return bearer(r, 4102444800, unjudged) }},
	{1, func(r *rand.Rand) request { return bearer(r, 1, undefined) }},
	{3, func(r *rand.Rand) request {
		return request{
			path: "/v1/data/rbac/claims?strict-builtin-errors=true",
			body: fmt.Sprintf(`{"input":{"token":"Bearer garbage-%d"}}`, r.IntN(1000)),
			want: failed,
		}
	}},
	{2, func(*rand.Rand) request {
		return request{path: "/v1/query", body: `{"query":"data.users[user].tenant == \"acme\""}`, want: unjudged}
	}},
	{2, func(*rand.Rand) request {
		return request{path: "/v1/query", body: `{"query":"data.users[user].tenant == \"nobody\""}`, want: undefined}
	}},
	{4, func(r *rand.Rand) request {
		q := ask(r, "rbac/allow", granted, malformed)
		q.body = q.body[:1+r.IntN(len(q.body)-1)] // a body that ends too early
		return q
	}},
}

// access is one question to the policy; %d stands for a number.
type access struct{ user, action, resource, ip string }

var granted = []access{
	{"alice", "update", "tenants/acme/users/%d", ""},
	{"alice", "read", "tenants/acme/documents/%d", ""},
	{"bob", "update", "tenants/acme/documents/%d", ""},
	{"bob", "READ", "tenants/acme/invoices/%d", ""},
	{"bob", "delete", "tenants/acme/documents/%d", "192.0.2.17"},
	{"carol", "approve", "tenants/globex/invoices/%d", "198.51.100.7"},
	{"dave", "read", "tenants/globex/documents/%d", ""},
	{"erin", "approve", "tenants/initech/invoices/%d", "2001:db8::17"},
}

var refused = []access{
	{"dave", "update", "tenants/globex/documents/%d", ""},                // no such role
	{"dave", "read", "tenants/acme/documents/%d", ""},                    // another tenant
	{"carol", "approve", "tenants/globex/invoices/%d", "203.0.113.5"},    // not in the office
	{"frank", "read", "tenants/initech/documents/%d", ""},                // suspended
	{"mallory", "delete", "tenants/initech/documents/%d", "203.0.113.5"}, // unknown
}

// ask makes a POST /v1/data request of one of the cases.
func ask(r *rand.Rand, path string, cases []access, want outcome) request {
	a := cases[r.IntN(len(cases))]
	resource := fmt.Sprintf(a.resource, r.IntN(10_000))
	var ip string
	if a.ip != "" {
		ip = fmt.Sprintf(`,"ip":%q`, a.ip)
	}
	return request{
		path: "/v1/data/" + path,
		body: fmt.Sprintf(`{"input":{"user":%q,"action":%q,"resource":%q%s}}`, a.user, a.action, resource, ip),
		want: want,
	}
}

func instrumented(q request) request {
	q.instrumented = true
	return q
}

// bearer asks for the claims of a token that expires at exp, in seconds since
// 1970. The policy does not check signatures.
func bearer(r *rand.Rand, exp int64, want outcome) request {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	token := strings.Join([]string{
		part(`{"alg":"HS256","typ":"JWT"}`),
		part(fmt.Sprintf(`{"sub":"user-%d","exp":%d}`, r.IntN(1000), exp)),
		part("signature"),
	}, ".")
	return request{
		path: "/v1/data/rbac/claims",
		body: fmt.Sprintf(`{"input":{"token":"Bearer %s"}}`, token),
		want: want,
	}
}

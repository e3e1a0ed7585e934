// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// onCallUser is the only user who is on call.
const onCallUser = "erin"

// request is a POST request.
type request struct {
	requestKind
	body string
}

// requestKind is a kind of request, with the status that the answer must have.
type requestKind struct {
	count  int // in each block of the workload
	path   string
	status int
	bodies []string // a # stands for a number
}

// mixture lists the requests of each block of the workload. Instrumented
// requests come last: see workload.
var mixture = []requestKind{
	{35, "/v1/data/rbac/allow", 200, granted},
	{18, "/v1/data/rbac/allow", 200, refused},
	{14, "/v1/data/rbac/decision", 200, granted},
	{5, "/v1/data/rbac/decision", 200, refused},
	{3, "/v1/data/rbac/on_call", 200, []string{`{"input":{"user":"` + onCallUser + `"}}`}},
	{2, "/v1/data/rbac/on_call", 200, []string{`{"input":{"user":"dave"}}`}},
	{4, "/v1/data/rbac/quota", 200, granted}, // there is no such rule
	{3, "/v1/data/rbac/permissions", 200, granted},
	{2, "/v1/data/rbac/claims", 200, []string{bearer(`{"sub":"user","exp":4102444800}`)}},
	{1, "/v1/data/rbac/claims", 200, []string{bearer(`{"sub":"user","exp":1}`)}},
	{3, "/v1/data/rbac/claims?strict-builtin-errors=true", 500, []string{`{"input":{"token":"Bearer garbage-#"}}`}},
	{2, "/v1/query", 200, []string{`{"query":"data.users[user].tenant == \"acme\""}`}},
	{2, "/v1/query", 200, []string{`{"query":"data.users[user].tenant == \"nobody\""}`}},
	{4, "/v1/data/rbac/decision?instrument=true", 200, granted},
	{2, "/v1/data/rbac/decision?instrument=true", 200, refused},
}

var granted = []string{
	access("alice", "update", "acme/users", ""),
	access("bob", "update", "acme/documents", ""),
	access("bob", "READ", "acme/invoices", ""),
	access("bob", "delete", "acme/documents", "192.0.2.17"),
	access("carol", "approve", "globex/invoices", "198.51.100.7"),
	access("erin", "approve", "initech/invoices", "2001:db8::17"),
}

var refused = []string{
	access("dave", "update", "globex/documents", ""),                // no such role
	access("dave", "read", "acme/documents", ""),                    // another tenant
	access("carol", "approve", "globex/invoices", "203.0.113.5"),    // not in the office
	access("frank", "read", "initech/documents", ""),                // suspended
	access("mallory", "delete", "initech/documents", "203.0.113.5"), // unknown
}

func access(user, action, resource, ip string) string {
	return fmt.Sprintf(`{"input":{"user":%q,"action":%q,"resource":"tenants/%s/#","ip":%q}}`, user, action, resource, ip)
}

// bearer returns the body of a request with a token that has these claims. The
// policy does not check signatures.
func bearer(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"input":{"token":"Bearer %s.%s.c2ln"}}`, part([]byte(`{"alg":"HS256","typ":"JWT"}`)), part([]byte(claims)))
}

// workload is an endless sequence of requests, in blocks of the same mixture.
// It is always the same. The first block is not shuffled, because a
// server compiles a path's query at the first request. If that request were
// instrumented, the report would get twenty more stages.
type workload struct {
	rng     *rand.Rand
	started bool
}

func newWorkload() workload { return workload{rng: rand.New(rand.NewPCG(1, 0))} }

// block returns the next requests.
func (w *workload) block() (block []request) {
	for _, kind := range mixture {
		for range kind.count {
			body := kind.bodies[w.rng.IntN(len(kind.bodies))]
			block = append(block, request{kind, strings.ReplaceAll(body, "#", strconv.Itoa(w.rng.IntN(10_000)))})
		}
	}
	if w.started {
		w.rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
	}
	w.started = true
	return block
}

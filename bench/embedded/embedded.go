// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package embedded measures a decision in a program that uses OPA as a
// library. Built as it is, it measures OPA with its own package metrics;
// built with the tag dropin, in a build where OPA's v1/metrics is the drop-in,
// it measures ours. Nothing of Regometer is imported: the policy engine alone
// is what differs.
package embedded

import "embed"

// Policy is what both the embedded decision and the server evaluate: the rule
// rbac.allow and its data.
//
//go:embed rbac.rego data.json
var Policy embed.FS

// Input is a request that the policy allows.
const Input = `{"user": "alice", "roles": ["editor"], "action": "update"}`

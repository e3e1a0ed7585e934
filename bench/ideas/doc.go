// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package ideas measures each idea of OPA's pull request 8113 by itself. It
// compares a step as OPA does it, or without the idea (impl=without), with the
// same step with the idea (impl=with). A test checks that both give the same
// results. docs/design.md has the figures.
//
//	go test -bench . | benchstat -col /impl -
package ideas

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package ideas measures what single ideas for a faster metrics package do on
// their own: a step as OPA does it, or with the idea taken out
// (impl=without), against the same step with the idea (impl=with). Each pair is
// tested to give the same results. There is nothing here but tests: see
// docs/design.md for the results.
//
// The list is in ideas_test.go. The ideas of OPA's pull request 8113 are in
// proposal_test.go, those that go beyond it in beyond_test.go, and that of
// exphist in histogram_test.go.
//
//	go test -bench . | benchstat -col /impl -
package ideas

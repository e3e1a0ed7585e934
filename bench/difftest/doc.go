// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package difftest compares package metrics with the package of Open Policy
// Agent that it replaces. It has only tests, and the name of a variable that
// they read.
package difftest

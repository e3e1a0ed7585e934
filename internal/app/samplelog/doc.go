// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package samplelog writes decision logs such as servers of Open Policy Agent
// (OPA) write them, of any size and in any container, and tells what is in
// them.
//
// Nothing is taken from a clock or from a system's randomness: the same options
// give the same text on every machine. Durations are log-normal; what a stage
// contains is part of what it took. What is drawn does not depend on the
// container, so that with the same options, and Decisions instead of Size, all
// containers hold the same decisions, as long as no lines are bad.
package samplelog

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package samplelog writes the decision logs of servers of Open Policy Agent
// (OPA), of any size and in any container, and says what they hold.
//
// It uses neither a clock nor the system's randomness: the same options give
// the same text on every machine. Durations are log-normal, and the duration of
// a stage includes those of the stages in it. Decisions do not depend on the
// container. So the same options, with Decisions instead of Size and without
// bad lines, give the same decisions in all containers.
package samplelog

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package decisionlog reads the decision logs of Open Policy Agent (OPA), in
// whatever container they come: lines of JSON, what OPA uploads, prints to its
// console or writes to a file, indented JSON, and any of these as docker, the
// kubelet, docker compose, kubectl, Splunk or Fluent Bit wrap it, one inside
// the other too. A [Reader] recognises them by their content, line by line.
//
// An event is an object with "labels" or "decision_id", and with "path",
// "query" or "decision_id", unless it has a "msg" other than "Decision Log".
// Only its own fields count: whatever an input or a result holds is never taken
// for an event or a field of one.
package decisionlog

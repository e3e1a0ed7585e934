// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package decisionlog reads the decision logs of Open Policy Agent (OPA),
// wherever a shipper or a service has put the events: in lines of JSON, in what
// OPA uploads or prints to its console, in indented JSON, and in any wrapper of
// these, one inside the other too. A [Reader] finds the events by their
// content.
//
// An event is an object with "decision_id" and one of "path", "query",
// "labels", "metrics", or an object with "labels", "metrics" and one of "path",
// "query". A "msg" must be "Decision Log". Nothing in an event is another
// event, and nothing in an input, a result or other arbitrary data is one.
package decisionlog

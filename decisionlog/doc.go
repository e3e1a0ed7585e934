// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package decisionlog reads the decision logs of Open Policy Agent (OPA),
// wherever a shipper or a service has put the events: in lines of JSON, in
// OPA's uploads and on its console, in indented JSON, and in wrappers within
// wrappers of these. A [Reader] finds the events by their content.
//
// An event is an object with "decision_id" and one of "path", "query",
// "labels", "metrics", or an object with "metrics", one of "path", "query", and
// "labels" or "msg". A "msg" must be "Decision Log". Of these members an answer
// of OPA's API has only "decision_id", "result" and "metrics", and is no event.
// An event does not contain other events, and neither does an input, a result
// or other arbitrary data. An object with "level" and another "msg" is a line
// of a logger, and so is a line that begins as OPA's with --log-format text.
// Such lines quote what clients have sent, and do not contain events either.
package decisionlog

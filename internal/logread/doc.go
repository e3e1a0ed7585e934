// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package logread reads decision logs of Open Policy Agent (OPA), for package
// decisionlog and for the commands. A [Reader] takes three steps, each with one
// type:
//
//   - A source finds the values in a text of lines: objects, in arrays and over
//     many lines too, which it puts on one line, records of CSV, and lines behind
//     prefixes.
//   - A finder finds the events in a value, whatever surrounds them. A text in
//     the value may be a source again, or a part of one.
//   - A parser reads the members of an event.
//
// An event is an object with "decision_id" and one of "path", "query" and
// "labels", or an object with "metrics", one of "path" and "query", and "labels"
// or "msg". A "msg" must be "Decision Log". An object with "decision_id",
// "metrics" and another member of events is one too, if it has no "result":
// answers of OPA's API have only these three, and are no events.
// An event does not contain other events, except copies of itself, and neither
// does an input, a result or other arbitrary data, nor a path, an error or a
// header. An object with "level" and another "msg" is a line of a logger, and so
// is a line that begins as OPA's with --log-format text. Such lines quote what
// clients have sent, and do not contain events either.
package logread

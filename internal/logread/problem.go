// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

// Problem is a kind of fault of a log.
type Problem string

// The problems.
const (
	InvalidJSON    Problem = "invalid_json"    // JSON that begins and breaks
	Truncated      Problem = "truncated"       // the text ends within an event
	UnknownForm    Problem = "unknown_form"    // a decision in a line that is no JSON, and of no form that is known, or in a row that lacks too much, such as the names of its columns
	InvalidUTF8    Problem = "invalid_utf8"    // in a path or another field that is used
	TooLong        Problem = "too_long"        // an event longer than Options.MaxLength, which is skipped
	NoMetrics      Problem = "no_metrics"      // an event without metrics, which counts
	BadMetric      Problem = "bad_metric"      // a timer or counter that is not a 64-bit integer, or too long or too many to read
	NegativeMetric Problem = "negative_metric" // a timer or counter below 0
	DuplicateKey   Problem = "duplicate_key"   // a repeated field, of which the last one counts, or metric, of which the first one does
	BadTime        Problem = "bad_timestamp"   // an invalid timestamp, and no other time
	LineTime       Problem = "line_time"       // no valid timestamp; the time is that of OPA's line
	WrapperTime    Problem = "wrapper_time"    // nor a time of OPA's line; it is that of a text around the event
	NoZone         Problem = "no_zone"         // a time without a zone, which is read as UTC
	NoText         Problem = "no_text"         // an entry of journald without its text, or with numbers for its bytes
	Logged         Problem = "logged_event"    // an event in a line of a logger, which does not count
)

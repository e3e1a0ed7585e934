// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// field is a member of an event that the reader reads, or one of the classes
// below.
type field uint8

const (
	fieldPath field = iota // strings
	fieldQuery
	fieldTimestamp
	fieldRevision
	fieldDecisionID
	fieldRequestedBy
	fieldMsg
	fieldTraceID
	fieldSpanID
	fieldResult // other values
	fieldError
	fieldErased
	fieldMasked
	fieldLabels
	fieldBundles
	fieldMetrics
	fieldInput
	fieldRequestID
	fieldRuleLabels
	fieldData   // a member of an event, or of what surrounds it, that holds arbitrary data
	fieldCache  // as fieldData
	fieldExport // a member beside a "result" that is not an event's: see wrapper.go
	fieldCustom // as fieldData, but one member of it matters
	fieldLevel  // a member that a logger writes beside "msg"
	fieldTime   // the time of a line
	fieldStamp  // the time of a wrapper
	fieldNone   // any other member
	fieldHits   // a member of an export that may be longer than an event: see document.go
	fieldFlat   // a member of a field: see flat.go
	fieldCount
)

// isData reports whether a member holds arbitrary data, which is never searched
// for events.
func (f field) isData() bool {
	return f == fieldData || f == fieldCache || f == fieldInput || f == fieldResult || f == fieldCustom
}

var fields = map[string]field{
	"path": fieldPath, "query": fieldQuery, "timestamp": fieldTimestamp, "result": fieldResult, "error": fieldError,
	"erased": fieldErased, "masked": fieldMasked, "labels": fieldLabels, "bundles": fieldBundles, "revision": fieldRevision,
	"metrics": fieldMetrics, "decision_id": fieldDecisionID, "requested_by": fieldRequestedBy, "msg": fieldMsg,
	"input": fieldInput, "Input": fieldData, "trace_id": fieldTraceID, "span_id": fieldSpanID, "req_id": fieldRequestID, "rule_labels": fieldRuleLabels,
	"mapped_result": fieldData, "intermediate_results": fieldData, "nd_builtin_cache": fieldCache, "request_context": fieldData,
	"custom": fieldCustom, "req_body": fieldData, "resp_body": fieldData, "req_params": fieldData,
	"resultType": fieldExport, "preview": fieldExport, "level": fieldLevel,
	"time": fieldTime, "@timestamp": fieldStamp, "__REALTIME_TIMESTAMP": fieldStamp, "timeUnixNano": fieldStamp, "date": fieldStamp, "_time": fieldStamp,
	"ts": fieldStamp, "_messagetime": fieldStamp, "TimeGenerated": fieldStamp,
	"columns": fieldHits, "data": fieldHits, "entries": fieldHits, "events": fieldHits, "hits": fieldHits, "logEvents": fieldHits, "logRecords": fieldHits,
	"messages": fieldHits, "records": fieldHits, "resourceLogs": fieldHits, "results": fieldHits, "rows": fieldHits,
	"scopeLogs": fieldHits, "streams": fieldHits, "tables": fieldHits, "values": fieldHits,
}

func fieldOf(key []byte) field {
	key = asWritten(key)
	if f, ok := fields[string(key)]; ok {
		return f
	}
	switch head, _ := headOf(key, false); {
	case head >= 0 || outerOf(key) != nil:
		return fieldFlat
	case ofClient.Match(key):
		return fieldData
	}
	return fieldNone
}

// asWritten returns the name of a column as OPA writes it. Those of Snowflake
// are in capitals.
func asWritten(name []byte) []byte {
	if len(name) > 1 && name[1] <= 'Z' && bytes.Equal(name, bytes.ToUpper(name)) {
		return bytes.ToLower(name)
	}
	return name
}

// heads are the fields of an event whose members a store may flatten.
var heads = [...]struct {
	name  string
	field field
	// Behind one underscore, a member must begin with one of these, because the
	// whole key may be another member of the event.
	begins []string
}{
	{"metrics", fieldMetrics, []string{"timer_", "counter_", "histogram_"}},
	{"labels", fieldLabels, []string{""}},
	{"result", fieldResult, []string{"allow", "deny", "decision", "violation", "response"}},
	{"bundles", fieldBundles, []string{""}},
	{"error", fieldError, []string{"code", "message"}},
}

// headOf returns the index of the head of a flattened member's key, and the rest
// of the key, or -1. isFlat says that the object has flattened metrics, and so
// any member of a result.
func headOf(name []byte, isFlat bool) (head int, rest []byte) {
	if slices.ContainsFunc(heads[0].begins, func(s string) bool { return hasPrefix(name, s) }) {
		return 0, name // a metric in a column of its own
	}
	for i := range heads {
		rest, ok := bytes.CutPrefix(name, []byte(heads[i].name))
		if !ok || len(rest) < 2 {
			continue
		}
		isSure := strings.IndexByte(".:/", rest[0]) >= 0 || hasPrefix(rest, "__")
		if isSure || rest[0] == '_' && (isFlat && heads[i].field == fieldResult || slices.ContainsFunc(heads[i].begins, func(s string) bool { return hasPrefix(rest[1:], s) })) {
			return i, bytes.TrimPrefix(rest[1:], []byte{'_'})
		}
	}
	return -1, nil
}

// outerOf returns what is before an event's keys, such as "opa." or "@", or nil.
// It is never the name of arbitrary data.
func outerOf(name []byte) []byte {
	outer, ok := bytes.CutSuffix(name, []byte("decision_id"))
	if !ok || len(outer) == 0 || strings.IndexByte(separators, outer[len(outer)-1]) < 0 || containsAny(outer, dataNames) {
		return nil
	}
	return outer
}

// separators end what is before an event's keys.
const separators = "._@:-$"

// dataNames are parts of the names of members with arbitrary data.
var dataNames = [][]byte{[]byte("input"), []byte("result"), []byte("custom"), []byte("builtin"), []byte("context"), []byte("req_"), []byte("resp_"), []byte("body")}

// ofClient matches the key of a member that has what a client has sent: of an
// input, of a path or query below a name or with Azure's suffix, and of a header
// of a request, as the access logs of proxies have it.
var ofClient = regexp.MustCompile(`(?:^|[\W_])(?:input[._]|(?:path|query)(?:_s)?$)|(?:user.agent|authority|referr?er|forwarded.for|cookie|ur[il])$`)

// An object or array of a wrapper that holds an event, the beginning of one, or
// a line of OPA's decision logger contains one of these texts: the names of an
// event's members, the logger's name, escapes that may stand for them, or the
// beginning of JSON in a string.
var (
	signs = [][]byte{[]byte("decision_id"), []byte("metrics"), []byte("decision_logs"), []byte(`\u`), []byte(`"{`), []byte(`"[`)}
	names = signs[:3]
)

func containsAny(text []byte, words [][]byte) bool {
	return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(text, word) })
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

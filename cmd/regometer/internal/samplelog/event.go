// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// layout is the order of an event's fields, and how they are written.
type layout struct {
	fields            []string
	level, timeFormat string // of the logger's own fields
	errorText         bool   // an error is a text
}

var (
	// uploadLayout is the layout of OPA's uploads: the fields of its EventV1 in
	// order.
	uploadLayout = layout{fields: strings.Fields(
		"labels decision_id trace_id span_id bundles path query input result nd_builtin_cache erased error requested_by timestamp metrics req_id")}
	// consoleLayout is the layout of OPA's logger: all fields sorted.
	consoleLayout = layout{errorText: true, level: "info", timeFormat: time.RFC3339, fields: strings.Fields(
		"bundles decision_id erased error input labels level metrics msg nd_builtin_cache path query req_id requested_by result span_id time timestamp trace_id type")}
	// fileLayout is the layout of the plugin file_logger.
	fileLayout = layout{errorText: true, level: "INFO", timeFormat: time.RFC3339Nano, fields: strings.Fields(
		"time level msg type timestamp decision_id trace_id span_id labels bundles path query input result nd_builtin_cache erased error requested_by metrics req_id")}
)

// labelsOf returns the labels of each server as JSON.
func labelsOf(o *Options) (all [servers]string) {
	ids := newSource(o.Seed, 4)
	for i := range all {
		all[i] = fmt.Sprintf(`{"id":"%s","version":"1.22.0"}`, uuid(ids))
	}
	return all
}

func uuid(s *source) string {
	high, low := s.Uint64()&^0xf000|0x4000, s.Uint64()&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// eventOf returns an event, which is valid until the next call.
func (w *writer) eventOf(d *decision) []byte {
	values := w.values(d)
	w.buffer = append(w.buffer[:0], '{')
	for _, field := range w.format.fields {
		if value := values[field]; value != "" {
			w.buffer = appendField(w.buffer, field, value)
		}
	}
	w.buffer[len(w.buffer)-1] = '}'
	return w.buffer
}

// appendField appends a field, whose value is JSON, and a comma.
func appendField(b []byte, key, value string) []byte {
	b = append(append(append(b, '"'), key...), `":`...)
	return append(append(b, value...), ',')
}

// values returns the fields of an event as JSON. A field that the event lacks
// is "".
func (w *writer) values(d *decision) map[string]string {
	path, timestamp, failure := d.path, d.time.Format(time.RFC3339Nano), d.failure.object
	if d.slash {
		path = "/" + path
	}
	if d.flaw == logread.BadTime {
		timestamp = "yesterday"
	}
	if w.format.errorText {
		failure = quote(d.failure.text)
	}
	return map[string]string{
		"labels":      w.labels[d.server],
		"decision_id": quote(d.id),
		"trace_id":    quote(d.trace),
		"span_id":     quote(d.span),
		"bundles":     w.bundles(d.time),
		"path":        when(d.path != outcome.Query && d.path != outcome.AllData, quote(path)),
		"query":       when(d.path == outcome.Query, `"data.users[user].tenant == \"acme\""`),
		"input":       when(d.input, w.inputs[d.inputAt]),
		"result":      d.result,
		"nd_builtin_cache": when(d.counters[networkRequests] > 0,
			`{"http.send":{"[{\"method\":\"get\",\"url\":\"https://limits.example.com/v1\"}]":`+
				`{"body":{"limit":10000,"metrics":{"timer_server_handler_ns":1}},"status":"200 OK","status_code":200}}}`),
		"erased": when(d.erased != "", `["`+d.erased+`"]`),
		"error":  failure,
		"requested_by": fmt.Sprintf(`"10.%s%d.3.%d:%d"`, when(d.flaw == logread.InvalidUTF8, "\xff"),
			d.client>>28, d.client>>20&0xff, 32768+d.client&0x7fff), // an ephemeral port
		"timestamp": quote(timestamp),
		"metrics":   when(d.flaw != logread.NoMetrics, d.metrics()),
		"req_id":    strconv.Itoa(d.request),
		"level":     quote(w.format.level),
		"msg":       `"Decision Log"`,
		"type":      `"openpolicyagent.org/decision_logs"`,
		"time":      quote(d.time.Format(w.format.timeFormat)),
	}
}

// when returns text if the condition holds, or else "".
func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// quote returns text as a JSON string, or "" if the text is empty. The text
// must need no escapes.
func quote(text string) string { return when(text != "", `"`+text+`"`) }

// bundles returns the bundles at a time as JSON, or "" if there are none.
func (w *writer) bundles(at time.Time) string {
	infos := map[string]map[string]string{}
	for _, b := range w.options.Bundles {
		if b.NewRevision != "" && !at.Before(b.ChangeAt) {
			b.Revision = b.NewRevision
		}
		infos[b.Name] = map[string]string{"revision": b.Revision}
	}
	return when(len(infos) > 0, jsonOf(infos))
}

const networkRequests = "rego_builtin_http_send_network_requests"

// metrics returns the metrics as JSON, sorted by key as OPA sorts them.
func (d *decision) metrics() string {
	b := append(make([]byte, 0, 512), '{')
	for _, name := range slices.Sorted(maps.Keys(d.counters)) {
		b = appendField(b, "counter_"+name, strconv.FormatInt(d.counters[name], 10))
	}
	timers := slices.Sorted(maps.Keys(d.timers))
	for _, name := range timers {
		if strings.HasPrefix(name, "eval_op_") { // OPA's summary of a single value
			b = appendField(b, "histogram_"+name, fmt.Sprintf(`{"75%%":%[1]d,"90%%":%[1]d,"95%%":%[1]d,"99%%":%[1]d,"99.9%%":%[1]d,`+
				`"99.99%%":%[1]d,"count":1,"max":%[1]d,"mean":%[1]d,"median":%[1]d,"min":%[1]d,"stddev":0}`, d.timers[name]))
		}
	}
	for _, name := range timers {
		key, value := "timer_"+name+"_ns", d.timers[name]
		text := strconv.FormatInt(value, 10)
		if name == d.flawIn {
			switch d.flaw {
			case logread.BadMetric:
				text += ".5"
			case logread.NegativeMetric:
				text = strconv.FormatInt(-1-value, 10)
			case logread.DuplicateKey:
				b = appendField(b, key, strconv.FormatInt(value+1_000_000_000, 10))
			}
		}
		b = appendField(b, key, text)
	}
	b[len(b)-1] = '}'
	return string(b)
}

// otherLines are lines without an event: of OPA, of the Envoy plugin with the
// metrics of a decision, and plain text.
var otherLines = []string{
	`{"client_addr":"10.0.3.7:40000","level":"info","msg":"Sent response.","req_id":7,"req_path":"/v1/data/rbac/allow","resp_duration":0.2,"time":"2026-01-02T03:04:05Z"}`,
	`{"bundles":{"authz":{"active_revision":"r1","metrics":{"timer_bundle_request_ns":7}}},"labels":{"id":"x"},"level":"info",` +
		`"metrics":{"prometheus":{"go_goroutines":{"type":1}}},"msg":"Status Log","type":"openpolicyagent.org/status"}`,
	`{"decision":true,"decision-id":"x","err":null,"level":"debug","metrics":{"timer_rego_query_eval_ns":7,"timer_server_handler_ns":9},` +
		`"msg":"Returning policy decision.","query":"data.envoy.authz.allow","txn":7}`,
	`2026-01-02T03:04:05 http: TLS handshake error from 10.0.3.7:40000: EOF`,
	`[INFO] Initializing server. addrs = [":8181"], pid = 7`,
	`sidecar: level=debug msg="sent {\"decision_id\":\"none\",\"path\":\"a/b\"}" client=10.0.3.7`,
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"encoding/json"
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
	escapeHTML        bool
}

var (
	// uploadLayout is the layout of OPA's uploads: the fields of its EventV1 in
	// order.
	uploadLayout = layout{escapeHTML: true, fields: strings.Fields(
		"labels decision_id trace_id span_id bundles path query input result nd_builtin_cache erased error requested_by timestamp metrics req_id")}
	// consoleLayout is the layout of OPA's logger: all fields sorted.
	consoleLayout = layout{errorText: true, escapeHTML: true, level: "info", timeFormat: time.RFC3339, fields: strings.Fields(
		"bundles decision_id erased error input labels level metrics msg nd_builtin_cache path query req_id requested_by result span_id time timestamp trace_id type")}
	// fileLayout is the layout of the plugin file_logger.
	fileLayout = layout{errorText: true, level: "INFO", timeFormat: time.RFC3339Nano, fields: strings.Fields(
		"time level msg type timestamp decision_id trace_id span_id labels bundles path query input result nd_builtin_cache erased error requested_by metrics req_id")}
)

// json returns a value as JSON, without a newline.
func (l *layout) json(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(l.escapeHTML)
	_ = encoder.Encode(value) // all these values can be written
	return strings.TrimSuffix(b.String(), "\n")
}

// labelsOf returns the labels of each server as JSON.
func labelsOf(o *Options, l *layout) (all [servers]string) {
	ids := newSource(o.Seed, 4)
	for i := range all {
		labels := map[string]string{"id": uuid(ids), "version": "1.22.0"}
		for name, values := range o.Labels {
			labels[name] = values[i%len(values)]
		}
		all[i] = l.json(labels)
	}
	return all
}

func uuid(s *source) string {
	high, low := s.Uint64()&^0xf000|0x4000, s.Uint64()&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// appendEvent appends an event to b.
func (w *writer) appendEvent(b []byte, d *decision) []byte {
	twice, decoy := "path", `"not/the/path"`
	if !d.hasPath() {
		twice, decoy = "decision_id", `"00000000-0000-4000-8000-000000000000"`
	}
	values := w.values(d)
	b = append(b, '{')
	for _, field := range w.format.fields {
		if d.flaw.problem == logread.DuplicateKey && d.flaw.timer == nil && field == twice {
			b = appendField(b, field, decoy)
		}
		if value := values[field]; value != "" {
			b = appendField(b, field, value)
		}
	}
	b[len(b)-1] = '}'
	return b
}

// appendField appends a field, whose value is JSON, and a comma.
func appendField(b []byte, key, value string) []byte {
	b = append(append(append(b, '"'), key...), `":`...)
	return append(append(b, value...), ',')
}

// hasPath reports whether the event has a field "path".
func (d *decision) hasPath() bool { return d.path != outcome.Query && d.path != allData }

// values returns the fields of an event as JSON. A field that the event lacks
// is "".
func (w *writer) values(d *decision) map[string]string {
	path, timestamp, failure := d.path, d.time.Format(time.RFC3339Nano), d.failure.object
	if d.slash {
		path = "/" + path
	}
	if d.flaw.problem == logread.BadTime {
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
		"path":        when(d.hasPath(), quote(path)),
		"query":       when(d.path == outcome.Query, `"data.users[user].tenant == \"acme\""`),
		"input":       when(d.input, w.inputs[d.inputAt]),
		"result":      d.result,
		"nd_builtin_cache": when(d.counters[networkRequests] > 0,
			`{"http.send":{"[{\"method\":\"get\",\"url\":\"https://limits.example.com/v1\"}]":`+
				`{"body":{"limit":10000,"metrics":{"timer_server_handler_ns":1}},"status":"200 OK","status_code":200}}}`),
		"erased": when(d.erased != "", `["`+d.erased+`"]`),
		"error":  failure,
		"requested_by": fmt.Sprintf(`"10.%s%d.3.%d:%d"`, when(d.flaw.problem == logread.InvalidUTF8, "\xff"),
			d.client>>28, d.client>>20&0xff, 32768+d.client&0x7fff), // an ephemeral port
		"timestamp": quote(timestamp),
		"metrics":   when(d.flaw.problem != logread.NoMetrics, d.metrics()),
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
	type info struct {
		Revision string `json:"revision"`
	}
	infos := map[string]info{}
	for _, b := range w.options.Bundles {
		infos[b.Name] = info{b.Revision}
		if b.NewRevision != "" && !at.Before(b.ChangeAt) {
			infos[b.Name] = info{b.NewRevision}
		}
	}
	return when(len(infos) > 0, w.format.json(infos))
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
		if name == d.at && d.flaw.timer != nil {
			text = d.flaw.timer(key, value)
		}
		b = appendField(b, key, text)
	}
	b[len(b)-1] = '}'
	return string(b)
}

// otherLines are lines without an event. writer.otherLine has their variables.
var otherLines = []string{
	`{"client_addr":"$client","level":"info","msg":"Received request.","req_id":$request,"req_method":"POST",` +
		`"req_path":"/v1/data/$path","time":"$date"}`,
	`{"client_addr":"$client","level":"info","msg":"Sent response.","req_id":$request,"req_method":"POST",` +
		`"req_path":"/v1/data/$path","resp_bytes":15,"resp_duration":$ms,"resp_status":200,"time":"$date"}`,
	`{"bundles":{"authz":{"active_revision":"r1","name":"authz","metrics":{"timer_bundle_request_ns":$ns}}},"labels":$labels,` +
		`"level":"info","metrics":{"prometheus":{"go_goroutines":{"type":1}}},"msg":"Status Log",` +
		`"plugins":{"bundle":{"state":"OK"},"decision_logs":{"state":"OK"}},"time":"$date","type":"openpolicyagent.org/status"}`,
	// of the Envoy plugin
	`{"decision":true,"decision-id":"$uuid","dry-run":false,"err":null,"level":"debug",` +
		`"metrics":{"timer_rego_query_eval_ns":$ns,"timer_server_handler_ns":$more},"msg":"Returning policy decision.",` +
		`"query":"data.envoy.authz.allow","time":"$date","total_decision_time":$ns,"txn":$request}`,
	`{"level":"info","msg":"Logs uploaded successfully.","plugin":"decision_logs","time":"$date"}`,
	`$second http: TLS handshake error from $client: EOF`,
	`[INFO] Initializing server. addrs = [":8181"], pid = $request`,
	`sidecar: level=debug msg="sent {\"decision_id\":\"none\",\"path\":\"a/b\"}" client=$client`,
}

// otherLine returns one of otherLines.
func (w *writer) otherLine() string {
	s := w.lines
	client := fmt.Sprintf("10.0.3.%d:%d", s.below(256), 32768+s.below(28000))
	ns := 20_000 + s.below(1_000_000)
	line, id := otherLines[s.below(len(otherLines))], ""
	if strings.Contains(line, "$uuid") {
		id = uuid(s)
	}
	return strings.NewReplacer(
		"$client", client, "$request", strconv.FormatInt(w.truth.Inputs.Decisions, 10), "$path", profiles[0].path,
		"$ns", strconv.Itoa(ns), "$more", strconv.Itoa(ns+9000), "$ms", fmt.Sprintf("%d.%06d", ns/1_000_000, ns%1_000_000),
		"$labels", w.labels[0], "$uuid", id, "$date", w.time.Format("2006-01-02T15:04:05Z"),
		"$second", w.time.Format("2006-01-02T15:04:05")).Replace(line)
}

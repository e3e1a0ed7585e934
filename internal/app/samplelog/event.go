// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/regometer/regometer/rollup"
)

// A field of an event.
type field int

const (
	bundlesField field = iota
	idField
	erasedField
	errorField
	inputField
	labelsField
	levelField
	slogLevelField
	metricsField
	messageField
	builtinCacheField
	pathField
	queryField
	requestField
	requestedByField
	resultField
	revisionField
	spanField
	timeField
	slogTimeField
	timestampField
	traceField
	typeField
)

// A layout is the order of an event's fields, and how they are written.
type layout struct {
	fields     []field
	errorText  bool // an error is a text
	escapeHTML bool
}

var (
	// uploadLayout is how OPA sends events: in the order of the fields of its
	// EventV1.
	uploadLayout = layout{escapeHTML: true, fields: []field{
		labelsField, idField, traceField, spanField, revisionField, bundlesField, pathField, queryField, inputField, resultField,
		builtinCacheField, erasedField, errorField, requestedByField, timestampField, metricsField, requestField,
	}}
	// consoleLayout is how OPA's logger writes them: the fields and its own,
	// sorted.
	consoleLayout = layout{errorText: true, escapeHTML: true, fields: []field{
		bundlesField, idField, erasedField, errorField, inputField, labelsField, levelField, metricsField, messageField,
		builtinCacheField, pathField, queryField, requestField, requestedByField, resultField, revisionField, spanField,
		timeField, timestampField, traceField, typeField,
	}}
	// fileLayout is how the plugin file_logger writes them.
	fileLayout = layout{errorText: true, fields: []field{
		slogTimeField, slogLevelField, messageField, typeField, timestampField, idField, traceField, spanField, labelsField,
		revisionField, bundlesField, pathField, queryField, inputField, resultField, builtinCacheField, erasedField, errorField,
		requestedByField, metricsField, requestField,
	}}
)

// renderer writes events in a layout. What events share is rendered once.
type renderer struct {
	layout
	labels    []string // fields of the servers
	bundles   []string // fields, with their commas, or ""
	revisions []string
	changes   []time.Time // the bundles at i hold until changes[i]
	inputs    []string
	second    int64 // of the timestamp
	date      []byte
}

func newRenderer(o *Options, l layout) *renderer {
	r := &renderer{layout: l}
	ids := newSource(o.Seed, 4)
	for i := range o.Instances {
		labels := map[string]string{"id": uuid(ids), "version": "1.22.0"}
		for name, values := range o.Labels {
			labels[name] = values[i%len(values)]
		}
		r.labels = append(r.labels, `"labels":`+l.json(labels)+`,`)
	}
	for _, b := range o.Bundles {
		if b.NewRevision != "" {
			r.changes = append(r.changes, b.ChangeAt)
		}
	}
	slices.SortFunc(r.changes, time.Time.Compare)
	r.changes = slices.CompactFunc(r.changes, time.Time.Equal)
	at := time.Time{}
	for i := range len(r.changes) + 1 {
		if i > 0 {
			at = r.changes[i-1]
		}
		bundles, revision := l.bundlesAt(o.Bundles, at)
		r.bundles, r.revisions = append(r.bundles, bundles), append(r.revisions, revision)
	}
	return r
}

// bundlesAt returns the fields of what bundles there are at a time.
func (l *layout) bundlesAt(bundles []Bundle, at time.Time) (named, revision string) {
	type info struct {
		Revision string `json:"revision"`
	}
	infos := map[string]info{}
	for _, b := range bundles {
		current := b.Revision
		if b.NewRevision != "" && !at.Before(b.ChangeAt) {
			current = b.NewRevision
		}
		if b.Name == "" {
			return "", `"revision":` + l.json(current) + `,`
		}
		infos[b.Name] = info{current}
	}
	if len(infos) == 0 {
		return "", ""
	}
	return `"bundles":` + l.json(infos) + `,`, ""
}

// json returns a value as JSON, without a newline.
func (l *layout) json(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(l.escapeHTML)
	if err := encoder.Encode(value); err != nil {
		panic(err) // nothing that is written so can fail
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

func uuid(s *source) string {
	high, low := s.Uint64()&^0xf000|0x4000, s.Uint64()&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// event appends an event to b.
func (r *renderer) event(b []byte, d *decision) []byte {
	b = append(b, '{')
	for _, f := range r.fields {
		b = r.field(d.appendDecoy(b, f), d, f)
	}
	b[len(b)-1] = '}'
	return b
}

// field appends a field and a comma, if the event has it.
func (r *renderer) field(b []byte, d *decision, f field) []byte {
	switch f {
	case labelsField:
		b = append(b, r.labels[d.server]...)
	case idField:
		b = append(b, `"decision_id":"`...)
		b = appendUUID(b, &d.id)
		b = append(b, `",`...)
	case traceField:
		if d.traced {
			b = append(b, `"trace_id":"`...)
			b = hex.AppendEncode(b, d.trace[:16])
			b = append(b, `",`...)
		}
	case spanField:
		if d.traced {
			b = append(b, `"span_id":"`...)
			b = hex.AppendEncode(b, d.trace[16:])
			b = append(b, `",`...)
		}
	case revisionField:
		b = append(b, r.revisions[r.change(d.time)]...)
	case bundlesField:
		b = append(b, r.bundles[r.change(d.time)]...)
	case pathField:
		if d.hasPath() {
			b = append(b, `"path":"`...)
			if d.slash {
				b = append(b, '/')
			}
			b = append(b, d.profile.name...)
			b = append(b, `",`...)
		}
	case queryField:
		if d.profile.name == rollup.Query {
			b = append(b, `"query":"data.users[user].tenant == \"acme\"",`...)
		}
	case inputField:
		if d.profile.input {
			b = append(b, `"input":`...)
			b = append(b, r.inputs[d.input]...)
			b = append(b, ',')
		}
	case resultField:
		if d.result != "" {
			b = append(b, `"result":`...)
			b = append(b, d.result...)
			b = append(b, ',')
		}
	case builtinCacheField:
		if d.metrics.counters[httpRequests] > 0 {
			b = append(b, builtinCache...)
		}
	case erasedField:
		if d.erased != "" {
			b = append(b, `"erased":["`...)
			b = append(b, d.erased...)
			b = append(b, `"],`...)
		}
	case errorField:
		b = r.failure(b, d.failure)
	case requestedByField:
		b = appendClient(b, d)
	case metricsField:
		b = d.appendMetrics(b)
	case requestField:
		b = appendNumber(b, `"req_id":`, int64(d.requests))
	default:
		b = r.logField(b, d, f)
	}
	return b
}

// logField appends a field of the logger, or of a time.
func (r *renderer) logField(b []byte, d *decision, f field) []byte {
	switch f {
	case levelField:
		return append(b, `"level":"info",`...)
	case slogLevelField:
		return append(b, `"level":"INFO",`...)
	case messageField:
		return append(b, `"msg":"Decision Log",`...)
	case typeField:
		return append(b, `"type":"openpolicyagent.org/decision_logs",`...)
	case timeField:
		b = append(b, `"time":"`...)
		b = append(b, r.dateOf(d.time)...)
		return append(b, `Z",`...)
	case slogTimeField:
		b = append(b, `"time":"`...)
		b = r.appendTime(b, d.time)
		return append(b, `",`...)
	default:
		b = append(b, `"timestamp":"`...)
		if d.flaw == noTime {
			b = append(b, "yesterday"...)
		} else {
			b = r.appendTime(b, d.time)
		}
		return append(b, `",`...)
	}
}

const builtinCache = `"nd_builtin_cache":{"http.send":{"[{\"method\":\"get\",\"url\":\"https://limits.example.com/v1\"}]":` +
	`{"body":{"limit":10000,"metrics":{"timer_server_handler_ns":1}},"status":"200 OK","status_code":200}}},`

func (r *renderer) failure(b []byte, f *failure) []byte {
	switch {
	case f == nil:
		return b
	case r.errorText:
		b = append(b, `"error":"`...)
		b = append(b, f.text...)
		return append(b, `",`...)
	default:
		b = append(b, `"error":`...)
		b = append(b, f.object...)
		return append(b, ',')
	}
}

// change returns which of the revisions hold at a time.
func (r *renderer) change(t time.Time) int {
	i := 0
	for i < len(r.changes) && !t.Before(r.changes[i]) {
		i++
	}
	return i
}

// dateOf returns a time to the second, without a zone.
func (r *renderer) dateOf(t time.Time) []byte {
	if second := t.Unix(); second != r.second || r.date == nil {
		r.second, r.date = second, t.AppendFormat(r.date[:0], "2006-01-02T15:04:05")
	}
	return r.date
}

// appendTime appends a time as time.RFC3339Nano does.
func (r *renderer) appendTime(b []byte, t time.Time) []byte {
	b = append(b, r.dateOf(t)...)
	if ns := t.Nanosecond(); ns > 0 {
		at := len(b)
		b = strconv.AppendInt(b, 1_000_000_000+int64(ns), 10)
		b[at] = '.' // in place of the 1
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
	}
	return append(b, 'Z')
}

func appendUUID(b []byte, id *[16]byte) []byte {
	b = append(b, "00000000-0000-0000-0000-000000000000"...)
	text := b[len(b)-36:]
	hex.Encode(text, id[:4])
	hex.Encode(text[9:], id[4:6])
	hex.Encode(text[14:], id[6:8])
	hex.Encode(text[19:], id[8:10])
	hex.Encode(text[24:], id[10:])
	return b
}

// appendClient appends the address that asked.
func appendClient(b []byte, d *decision) []byte {
	b = append(b, `"requested_by":"10.`...)
	if d.flaw == notUTF8 {
		b = append(b, 0xff)
	}
	b = strconv.AppendUint(b, uint64(d.client>>28), 10)
	b = append(b, ".3."...)
	b = strconv.AppendUint(b, uint64(d.client>>20&0xff), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, 32768+uint64(d.client&0x7fff), 10) // of the ephemeral ports
	return append(b, `",`...)
}

// appendMetrics appends the metrics sorted by key, as OPA does.
func (d *decision) appendMetrics(b []byte) []byte {
	if d.flaw == noMetrics {
		return b
	}
	n := &d.metrics
	b = append(b, `"metrics":{`...)
	for c, value := range n.counters {
		if value >= 0 {
			b = appendNumber(b, counterKeys[c], value)
		}
	}
	for _, s := range [...]stage{evalPlug, evalRuleIndex} {
		if n.timers[s] >= 0 {
			b = appendHistogram(b, stageNames[s], n.timers[s])
		}
	}
	for s, value := range n.timers {
		if value >= 0 {
			b = d.appendTimer(b, stage(s))
		}
	}
	b[len(b)-1] = '}'
	return append(b, ',')
}

var (
	timerKeys   [stages]string
	counterKeys [counters]string
)

func init() {
	for s, name := range stageNames {
		timerKeys[s] = `"timer_` + name + `_ns":`
	}
	for c, name := range counterNames {
		counterKeys[c] = `"counter_` + name + `":`
	}
}

// appendNumber appends a key, a number and a comma.
func appendNumber(b []byte, key string, value int64) []byte {
	return append(strconv.AppendInt(append(b, key...), value, 10), ',')
}

// appendHistogram appends OPA's summary of a single value.
func appendHistogram(b []byte, name string, value int64) []byte {
	b = append(append(append(b, `"histogram_`...), name...), `":{`...)
	for _, key := range [...]string{
		`"75%":`, `"90%":`, `"95%":`, `"99%":`, `"99.9%":`, `"99.99%":`, `"count":`, `"max":`, `"mean":`, `"median":`, `"min":`, `"stddev":`,
	} {
		switch key {
		case `"count":`:
			b = appendNumber(b, key, 1)
		case `"stddev":`:
			b = appendNumber(b, key, 0)
		default:
			b = appendNumber(b, key, value)
		}
	}
	b[len(b)-1] = '}'
	return append(b, ',')
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

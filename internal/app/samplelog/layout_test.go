// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// plainLog returns the events of a log that has nothing but events.
func plainLog(t *testing.T, container string) []string {
	t.Helper()
	o := everything(container)
	o.BadShare, o.OtherLines, o.EventBytes, o.Decisions = 0, 0, 3000, 1500
	text, _ := write(t, o)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// marshal returns what OPA's encoders write.
func marshal(t *testing.T, value any, escapeHTML bool) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// event has the fields of OPA's logs.EventV1 that a log has, in their order.
type event struct {
	Labels      map[string]string `json:"labels"`
	DecisionID  string            `json:"decision_id"`
	TraceID     string            `json:"trace_id,omitempty"`
	SpanID      string            `json:"span_id,omitempty"`
	Revision    string            `json:"revision,omitempty"`
	Bundles     map[string]any    `json:"bundles,omitempty"`
	Path        string            `json:"path,omitempty"`
	Query       string            `json:"query,omitempty"`
	Input       any               `json:"input,omitempty"`
	Result      *any              `json:"result,omitempty"`
	Cache       map[string]any    `json:"nd_builtin_cache,omitempty"`
	Erased      []string          `json:"erased,omitempty"`
	Error       json.RawMessage   `json:"error,omitempty"`
	RequestedBy string            `json:"requested_by,omitempty"`
	Timestamp   time.Time         `json:"timestamp"`
	Metrics     map[string]any    `json:"metrics,omitempty"`
	RequestID   uint64            `json:"req_id,omitempty"`
}

// TestUploadLayout: events are what encoding/json makes of OPA's structure.
func TestUploadLayout(t *testing.T) {
	t.Parallel()
	for _, line := range plainLog(t, "ndjson") {
		// A result of null is one, which a pointer cannot tell.
		null := strings.Contains(line, `"result":null`)
		var e event
		decodeNumbers(t, line, &e)
		if null {
			e.Result = new(any)
		}
		if got := marshal(t, e, true); got != line {
			t.Fatalf("as OPA would write it\n%s\nwritten\n%s", got, line)
		}
	}
}

// TestConsoleLayout: events are what encoding/json makes of a map.
func TestConsoleLayout(t *testing.T) {
	t.Parallel()
	for _, line := range plainLog(t, "console") {
		var e map[string]any
		decodeNumbers(t, line, &e)
		if got := marshal(t, e, true); got != line {
			t.Fatalf("as OPA would write it\n%s\nwritten\n%s", got, line)
		}
		if at, _ := e["timestamp"].(string); e["msg"] != "Decision Log" || !strings.HasPrefix(at, strings.TrimSuffix(e["time"].(string), "Z")) {
			t.Fatalf("msg %v at %v, timestamp %s", e["msg"], e["time"], at)
		}
	}
}

// TestSpacedLayout: a space is behind each comma and colon outside of strings.
func TestSpacedLayout(t *testing.T) {
	t.Parallel()
	tokens := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[,:]`)
	got := plainLog(t, "spaced")
	for i, line := range plainLog(t, "ndjson") {
		want := tokens.ReplaceAllStringFunc(line, func(token string) string {
			if token[0] == '"' {
				return token
			}
			return token + " "
		})
		if got[i] != want {
			t.Fatalf("got  %s\nwant %s", got[i], want)
		}
	}
}

// TestFileLayout: events are what log/slog makes of OPA's attributes.
func TestFileLayout(t *testing.T) {
	t.Parallel()
	for _, line := range plainLog(t, "file_logger") {
		var e map[string]any
		decodeNumbers(t, line, &e)
		at, err := time.Parse(time.RFC3339Nano, e["time"].(string))
		if err != nil {
			t.Fatal(err)
		}
		record := slog.NewRecord(at, slog.LevelInfo, "Decision Log", 0)
		for _, key := range []string{"type", "timestamp", "decision_id", "trace_id", "span_id", "labels", "revision", "bundles",
			"path", "query", "input", "result", "nd_builtin_cache", "erased", "error", "requested_by", "metrics", "req_id"} {
			if value, ok := e[key]; ok {
				record.Add(key, value)
			}
		}
		var b bytes.Buffer
		if err := slog.NewJSONHandler(&b, nil).Handle(context.Background(), record); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(b.String(), "\n"); got != line {
			t.Fatalf("as OPA would write it\n%s\nwritten\n%s", got, line)
		}
	}
}

// decodeNumbers decodes JSON and keeps numbers as they are.
func decodeNumbers(t *testing.T, line string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v: %.200s", err, line)
	}
}

// TestDockerQuotes: docker's lines are what encoding/json makes of a structure.
func TestDockerQuotes(t *testing.T) {
	t.Parallel()
	o := everything("docker")
	o.EventBytes, o.Decisions = 40_000, 200
	text, _ := write(t, o)
	for line := range strings.Lines(text) {
		var l struct {
			Log    string    `json:"log"`
			Stream string    `json:"stream"`
			Time   time.Time `json:"time"`
		}
		decode(t, line, &l)
		got := marshal(t, l, true)
		if strings.Contains(line, `\ufffd`) { // of a character that was split
			got = strings.ReplaceAll(got, "\ufffd", `\ufffd`)
		}
		if got != strings.TrimSuffix(line, "\n") {
			t.Fatalf("as docker would write it\n%.300s\nwritten\n%.300s", got, line)
		}
	}
}

// TestEveryFeature: what is rare is there too.
func TestEveryFeature(t *testing.T) {
	t.Parallel()
	o := samplelog.Options{Decisions: 60_000, Paths: 14, EventBytes: 2000, OtherLines: 0.001, Container: "console"}
	text, truth := write(t, o)
	for _, part := range []string{
		`"path":"/httpapi/authz/allow"`, `"path":"httpapi/authz/allow"`, `"query":"`, `"trace_id":"`, `"erased":["/result"]`,
		`"erased":["/input/password"]`, `"nd_builtin_cache":`, `"histogram_eval_op_plug":{"75%":`, `"timer_server_handler_ns":0`,
		`"error":"policy.rego:41: eval_conflict_error: `, `"error":"eval_cancel_error: `, `"error":"undefined_document: `,
		`"result":null`, `"counter_server_query_cache_hit":0`, `"msg":"Returning policy decision."`, `"msg":"Status Log"`,
		`\n,\"metrics\":{\"timer_rego_query_eval_ns\":2}}\n`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("nothing has %s", part)
		}
	}
	outcomes := map[string]int64{}
	for _, g := range truth.Groups {
		for outcome, n := range g.Outcomes {
			outcomes[outcome] += n
		}
	}
	for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
		if outcomes[outcome] == 0 {
			t.Errorf("no decision is %s", outcome)
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"fmt"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/topdown"
	"math/rand/v2"
	"slices"
)

// eventsWithErrors returns events with errors of each shape, large integers and
// texts of which the second half compresses badly, so that chunks turn out to be
// too large.
func eventsWithErrors(tb testing.TB, n int) (events []*EventV1, encoded []string) {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		text := strings.Repeat("a", 200)
		if i > n/2 {
			bs := make([]byte, 100)
			for i := range bs {
				bs[i] = byte('!' + rnd.IntN(90))
			}
			text = string(bs)
		}
		var input any = map[string]any{"text": text, "number": json.Number("9007199254740993")}
		event := &EventV1{DecisionID: strconv.Itoa(i), Path: "test/allow", Input: &input}
		switch i % 150 {
		case 0: // an object
			event.Error = &topdown.Error{Code: topdown.ConflictErr, Message: "<" + text + ">"}
		case 50: // an array
			event.Error = ast.Errors{ast.NewError(ast.TypeErr, nil, "%s", text)}
		case 100: // an empty object
			event.Error = errors.New("an error without exported fields")
		}
		events = append(events, event)
		encoded = append(encoded, encodeEvent(tb, event))
	}
	return events, encoded
}

func encodeEvent(tb testing.TB, event *EventV1) string {
	tb.Helper()
	bs, err := json.Marshal(event)
	if err != nil {
		tb.Fatal(err)
	}
	return string(bs)
}

// No event is lost or changed when chunks are split, or when a buffer hands its
// events to another one.
func TestChunksKeepEvents(t *testing.T) {
	t.Parallel()

	events, exp := eventsWithErrors(t, 1500)
	check := func(t *testing.T, got []string) {
		t.Helper()
		if !slices.Equal(exp, got) {
			t.Errorf("expected %d events, got %d, not all of which are equal", len(exp), len(got))
		}
	}
	const limit = 32 << 10

	t.Run("split", func(t *testing.T) {
		enc := newChunkEncoder(limit).WithMetrics(metrics.New())
		var chunks [][]byte
		for i, event := range events {
			cs, err := enc.Encode(event, []byte(exp[i]))
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, cs...)
		}
		cs, err := enc.Flush()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, event := range decodeChunks(t, append(chunks, cs...)) {
			got = append(got, encodeEvent(t, &event))
		}
		check(t, got)
		if enc.metrics.Counter(encUncompressedLimitScaleDownCounterName).Value() == uint64(0) {
			t.Error("expected a chunk to be split")
		}
	})

	for name, b := range map[string]buffer{
		sizeBufferType:  newSizeBuffer(0, limit, rest.Client{}, "", plugins.TriggerPeriodic),
		eventBufferType: newEventBuffer(int64(len(events)), limit, rest.Client{}, "", plugins.TriggerPeriodic),
	} {
		t.Run("flush "+name, func(t *testing.T) {
			for _, event := range events {
				b.Push(event)
			}
			var got []string
			for _, event := range b.Flush() {
				got = append(got, encodeEvent(t, event))
			}
			check(t, got)
		})
	}
}

// The ND cache is also dropped from an event of a chunk that is split.
func TestSplitDropsNDBCache(t *testing.T) {
	t.Parallel()

	event := eventWithNDCache()
	event.Error = errors.New("error")
	enc := newChunkEncoder(200).WithMetrics(metrics.New())
	if _, err := enc.scaleDown([]json.RawMessage{json.RawMessage(encodeEvent(t, &event))}); err != nil {
		t.Fatal(err)
	}
	chunks, err := enc.Flush()
	if err != nil {
		t.Fatal(err)
	}
	event.NDBuiltinCache = nil
	if got := decodeChunks(t, chunks); len(got) != 1 || encodeEvent(t, &got[0]) != encodeEvent(t, &event) {
		t.Errorf("expected %v without its cache, got %v", event, got)
	}
	if got := enc.metrics.Counter(logNDBDropCounterName).Value(); got != uint64(1) {
		t.Errorf("expected one dropped cache, got %v", got)
	}
}

// BenchmarkSizeBufferPush pushes events as a server makes them. Chunks are as
// large as by default.
func BenchmarkSizeBufferPush(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	events := make([]*EventV1, 10_000)
	for i := range events {
		var input any = map[string]any{"user": "alice", "action": "read", "resource": fmt.Sprintf("tenants/acme/documents/%d", i)}
		var result any = true
		events[i] = &EventV1{
			Labels:      map[string]string{"id": "8a7ab97e-3d2f-4b5d-a0f4-6ac2b1a8f6ad", "version": "1.22.3"},
			DecisionID:  fmt.Sprintf("%016x%016x", rnd.Uint64(), rnd.Uint64()),
			Path:        "rbac/allow",
			Input:       &input,
			Result:      &result,
			RequestedBy: "127.0.0.1:43210",
			Timestamp:   time.Unix(1_700_000_000, rnd.Int64N(1e9)),
			Metrics: map[string]any{
				"timer_rego_input_parse_ns": rnd.Int64N(1e5),
				"timer_rego_query_eval_ns":  rnd.Int64N(1e6),
				"timer_server_handler_ns":   rnd.Int64N(1e6),
			},
		}
	}
	buf := newSizeBuffer(1<<20, defaultUploadSizeLimitBytes, rest.Client{}, "", plugins.TriggerPeriodic)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		buf.Push(events[i%len(events)])
		i++
	}
}

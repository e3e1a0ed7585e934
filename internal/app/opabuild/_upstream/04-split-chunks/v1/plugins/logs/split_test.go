// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// No event is lost or changed when a chunk turns out to be too large and is
// split, whatever error and numbers it has.
func TestSplitChunks(t *testing.T) {
	const n, limit = 1500, 32 << 10

	for _, name := range []string{sizeBufferType, eventBufferType} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				gr, err := gzip.NewReader(r.Body)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(gr)
				if err != nil {
					t.Error(err)
					return
				}
				var events []json.RawMessage
				if err := json.Unmarshal(text, &events); err != nil {
					t.Error(err)
				}
				for _, event := range events {
					var id struct {
						DecisionID string `json:"decision_id"`
					}
					if err := json.Unmarshal(event, &id); err != nil {
						t.Error(err)
					}
					got[id.DecisionID] = string(event)
				}
			}))
			defer server.Close()
			client, err := rest.New([]byte(fmt.Sprintf(`{"url": %q}`, server.URL)), nil)
			if err != nil {
				t.Fatal(err)
			}

			m := metrics.New()
			var buffer interface{ Push(*EventV1) }
			var upload func() error
			switch name {
			case sizeBufferType:
				b := newSizeBuffer(1<<30, limit, client, "/logs", plugins.TriggerPeriodic)
				b.WithMetrics(m)
				buffer, upload = b, func() error { return b.Upload(t.Context()) }
			case eventBufferType:
				b := newEventBuffer(2*n, limit, client, "/logs", plugins.TriggerPeriodic)
				b.WithMetrics(m)
				buffer, upload = b, func() error { return b.Upload(t.Context()) }
			}

			rnd := rand.New(rand.NewPCG(1, 2))
			exp := map[string]string{}
			for i := range n {
				// The text compresses well at first, so that the limit for the
				// next chunks grows, and badly later.
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
				bs, err := json.Marshal(event)
				if err != nil {
					t.Fatal(err)
				}
				exp[event.DecisionID] = string(bs)
				buffer.Push(event)
			}
			if err := upload(); err != nil {
				t.Fatal(err)
			}

			if len(got) != n {
				t.Errorf("expected %d events, got %d; metrics: %v", n, len(got), m.All())
			}
			for id, event := range got {
				if event != exp[id] {
					t.Fatalf("expected event\n%s\ngot\n%s", exp[id], event)
				}
			}
			if m.Counter(encUncompressedLimitScaleDownCounterName).Value() == uint64(0) {
				t.Error("expected a chunk to be split")
			}
		})
	}
}

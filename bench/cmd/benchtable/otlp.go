// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
)

// listen serves HTTP until the listener is closed.
func listen(handler http.Handler) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		go func() { _ = http.Serve(listener, handler) }()
	}
	return listener, err
}

// An otlpSink takes exponential histograms by OTLP, as JSON, and adds up the
// numbers of values.
type otlpSink struct {
	mu     sync.Mutex
	values map[string]float64 // by the name of Regometer's series
}

// An otlpBody is a request.
type otlpBody struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name                 string // of the stage
				ExponentialHistogram struct {
					DataPoints []struct {
						Count      float64                                        `json:",string"`
						Attributes []struct{ Value struct{ StringValue string } } // at most the path
					}
				}
			}
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *otlpSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body otlpBody
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range body.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				for _, point := range m.ExponentialHistogram.DataPoints {
					s.values[fmt.Sprintf(`opa_decision_stage_duration_seconds_count{stage=%q}`, m.Name)] += point.Count
					for _, path := range point.Attributes {
						name := strings.TrimPrefix(path.Value.StringValue, "/") // some servers log it
						s.values[fmt.Sprintf(`opa_decision_path_duration_seconds_count{path=%q,stage=%q}`, name, m.Name)] += point.Count
					}
				}
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, "{}")
}

func (s *otlpSink) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = map[string]float64{}
}

func (s *otlpSink) counts(context.Context) (map[string]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values), nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// A sink is an HTTP service that only counts what it gets.
type sink struct {
	net.Listener
	mu     sync.Mutex
	values map[string]float64
}

// listen starts a sink. count adds the values of a body to those of the sink.
func listen(count func(values map[string]float64, body []byte) error) (*sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{Listener: listener, values: map[string]float64{}}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // until it is closed
			body, err := read(r)
			s.mu.Lock()
			defer s.mu.Unlock()
			if err == nil {
				err = count(s.values, body)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		}))
	}()
	return s, nil
}

// read returns the body of a request.
func read(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

func (s *sink) counts(context.Context) (map[string]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values), nil
}

func (s *sink) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.values)
}

// countDecisions counts the decisions of an upload.
func countDecisions(values map[string]float64, body []byte) error {
	values["decisions"] += float64(bytes.Count(body, []byte(`"decision_id":`)))
	return nil
}

// uploadConfig configures a server that uploads to an address as soon as it can.
const uploadConfig = `{"services": {"sink": {"url": "http://%s"}},
	"decision_logs": {"service": "sink", "reporting": {"min_delay_seconds": 1, "max_delay_seconds": 1}}}`

// countOTLP counts the values of exponential histograms, which come by OTLP as
// JSON, by the name of Regometer's series for the stage.
func countOTLP(values map[string]float64, body []byte) error {
	var data struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name                 string // of the stage
					ExponentialHistogram struct {
						DataPoints []struct {
							Count float64 `json:",string"`
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(body, &data); err != nil {
		return err
	}
	for _, resource := range data.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				for _, point := range m.ExponentialHistogram.DataPoints {
					values[fmt.Sprintf("opa_decision_stage_duration_seconds_count{stage=%q}", m.Name)] += point.Count
				}
			}
		}
	}
	return nil
}

// await waits up to a limit until a value of counts is as large as wanted.
func await(ctx context.Context, limit time.Duration, counts func(context.Context) (map[string]float64, error), name string, want float64) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		values, err := counts(ctx)
		if err != nil || values[name] >= want {
			return values, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is %v, want %v: %w", name, values[name], want, ctx.Err())
		case <-time.After(100 * time.Millisecond): // each reading costs the process time
		}
	}
}

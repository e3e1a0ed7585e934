// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"net"
	"net/http"
	"time"
)

// onCallUser is the one user whom the directory knows to be on call.
const onCallUser = "erin"

// directory is the service that the example policy asks by http.send who is
// on call.
type directory struct {
	url    string
	server *http.Server
}

// startDirectory serves the directory on a free loopback port.
func startDirectory() (*directory, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /on-call", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// An error would mean that the caller has gone.
		_ = json.NewEncoder(w).Encode(map[string]bool{"on_call": r.URL.Query().Get("user") == onCallUser})
	})
	d := &directory{
		url:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = d.server.Serve(listener) }() // until stop
	return d, nil
}

func (d *directory) stop() { d.server.Close() }

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/internal/logread"
)

// Options configures a [Collector].
type Options struct {
	Config  []byte // the configuration of the plugin, as JSON
	Version string // of Regometer, for regometer_build_info

	// Forward, if not nil, gets each body.
	Forward *Forward
	// Token, if not nil, returns the bearer token that senders and scrapers
	// must have.
	Token func() string

	Profiler Profiler // or nil

	// MaxBody limits a body after unpacking, and MaxEvent an event, in bytes. 0
	// stands for the default.
	MaxBody, MaxEvent int64

	Log *slog.Logger
}

// A Profiler gets events and serves a profile. Its metrics are among the
// collector's.
type Profiler interface {
	http.Handler
	prometheus.Collector
	// Offer offers an event, whose memory is used again. It waits for nothing.
	Offer(*logread.Event)
	// Renew says that the policy has changed.
	Renew()
}

// The default limits, in bytes.
const (
	DefaultBody  = 256 << 20
	DefaultEvent = 16 << 20
)

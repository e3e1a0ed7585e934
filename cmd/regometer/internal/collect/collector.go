// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package collect counts the decision logs that OPA servers upload, and passes
// them on.
package collect

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/regometer/regometer/opa/plugin"
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

	// MaxPacked and MaxUnpacked limit a body, and MaxEvent an event, in bytes.
	// 0 stands for the default.
	MaxPacked, MaxUnpacked, MaxEvent int64

	Log *slog.Logger
}

// The default limits, in bytes.
const (
	DefaultPacked   = 64 << 20
	DefaultUnpacked = 256 << 20
	DefaultEvent    = 16 << 20
)

// timeout limits the time from the arrival of a body to its answer. OPA waits
// 10 seconds for an answer, and sends the body again otherwise.
const timeout = 8 * time.Second

// Collector counts the decisions in the bodies that it gets by HTTP. It serves
// the metrics too.
type Collector struct {
	options  Options
	registry *prometheus.Registry
	Counter  *plugin.LogCounter
	metrics  *metrics
	slots    chan struct{} // bodies that are read at the same time
	readers  sync.Pool     // of *bodyReader, which wait for work
	repeated digests
	page     http.Handler
	bodies   http.Handler
}

// New returns a collector. It fails if the configuration is invalid.
func New(o Options) (*Collector, error) {
	o.MaxPacked, o.MaxUnpacked, o.MaxEvent = cmp.Or(o.MaxPacked, DefaultPacked), cmp.Or(o.MaxUnpacked, DefaultUnpacked), cmp.Or(o.MaxEvent, DefaultEvent)
	registry := prometheus.NewRegistry()
	counter, err := plugin.NewLogCounter(registry, o.Config, plugin.Build{Version: o.Version}, func(text string) { o.Log.Warn(text) })
	if err != nil {
		return nil, err
	}
	c := &Collector{
		options: o, registry: registry, Counter: counter,
		metrics: newMetrics(registry),
		slots:   make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	c.readers.New = func() any { return newBodyReader(counter, int(o.MaxEvent)) }
	c.page = c.guard(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, Registry: registry}))
	c.bodies = c.guard(http.HandlerFunc(c.collect))
	return c, nil
}

// ServeHTTP implements http.Handler. It is no http.ServeMux, which would change
// the paths of bodies.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler, methods := c.bodies, []string{http.MethodPost}
	switch r.URL.Path {
	case "/metrics":
		handler, methods = c.page, []string{http.MethodGet, http.MethodHead}
	case "/health":
		handler, methods = healthy, []string{http.MethodGet, http.MethodHead}
	}
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		http.Error(w, "GET /metrics and /health, and POST bodies to any other path", http.StatusMethodNotAllowed)
		return
	}
	handler.ServeHTTP(w, r)
}

var healthy http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}\n") })

// guard refuses requests without the token.
func (c *Collector) guard(next http.Handler) http.Handler {
	if c.options.Token == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer || subtle.ConstantTimeCompare([]byte(token), []byte(c.options.Token())) != 1 {
			c.metrics.refused.WithLabelValues("token").Inc()
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the request lacks the bearer token", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization") // it is not for the target
		next.ServeHTTP(w, r)
	})
}

// isOPA reports whether an OPA has sent a request. An OPA sends a body again
// until it gets status 200, and does not go on with other bodies.
func isOPA(r *http.Request) bool {
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	return name == "Open Policy Agent" || name == "Open-Policy-Agent" // older and newer releases
}

// collect answers a request with a body of decisions.
//
// It counts a body if and only if the target has accepted it, or if there is no
// target. OPA keeps a body until the answer is 200, so nothing is stored here.
func (c *Collector) collect(w http.ResponseWriter, r *http.Request) {
	if path := writtenPath(r.URL); !strings.HasPrefix(path, "/") || dotSegment.MatchString(path) {
		c.refuse(w, "path", http.StatusBadRequest, "the path must begin with / and have no segments . and ..")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(timeout)) // a slow sender must not hold a slot
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		c.refuse(w, "busy", http.StatusServiceUnavailable, "too many bodies at the same time")
		return
	}

	body := newBody(r.Body)
	var delivery *delivery
	if c.options.Forward != nil {
		delivery = c.options.Forward.start(ctx, r, body)
	}
	reader := c.readers.Get().(*bodyReader)
	defer func() { reader.shrink(); c.readers.Put(reader) }()
	unread := reader.read(body, r.Header.Get("Content-Encoding"), c.options.MaxPacked, c.options.MaxUnpacked)
	body.drain()

	answer := answer{status: http.StatusOK}
	if delivery != nil {
		answer = delivery.finish(body)
	}
	switch {
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		c.refuse(w, "slow", http.StatusServiceUnavailable, fmt.Sprintf("the body was not read within %v", timeout))
	case body.err != nil:
		c.refuse(w, "sender", http.StatusBadRequest, "the body ends too early: "+body.err.Error())
	case answer.err != nil:
		c.options.Log.Warn("The target did not take a body.", "error", answer.err)
		c.refuse(w, "target", http.StatusServiceUnavailable, "the target did not answer: "+answer.err.Error())
	case answer.status/100 != 2:
		c.metrics.refused.WithLabelValues("target").Inc()
		answer.write(w)
	default:
		c.account(w, r, reader, body, unread, answer)
	}
}

// account counts a body that the target has accepted, or for which there is no
// target, and answers.
func (c *Collector) account(w http.ResponseWriter, r *http.Request, reader *bodyReader, body *body, unread error, answer answer) {
	if unread != nil {
		var reason *unreadable
		errors.As(unread, &reason)
		if c.options.Forward == nil && !isOPA(r) {
			c.refuse(w, reason.reason, reason.status, reason.Error())
			return
		}
		counter := c.metrics.lost
		if c.options.Forward != nil {
			counter = c.metrics.uncounted
		}
		counter.WithLabelValues(reason.reason).Inc()
		c.options.Log.Warn("The decisions of a body do not count.", "reason", reason.Error(), "sender", r.RemoteAddr)
		answer.write(w)
		return
	}
	if !c.repeated.add(body.digest()) {
		c.metrics.repeated.Inc()
		answer.write(w)
		return
	}
	reader.batch.Count()
	c.metrics.counted.Inc()
	c.metrics.note(reader)
	answer.write(w)
}

func (c *Collector) refuse(w http.ResponseWriter, reason string, status int, message string) {
	c.metrics.refused.WithLabelValues(reason).Inc()
	http.Error(w, message, status)
}

// unreadable says why the decisions of a body cannot be counted.
type unreadable struct {
	reason string // a label
	status int    // for senders that are not OPA
	text   string
}

func (u *unreadable) Error() string { return u.text }

func tooLarge(reason, what string, limit int64) error {
	return &unreadable{reason, http.StatusRequestEntityTooLarge, fmt.Sprintf("%s has more than %d bytes", what, limit)}
}

func unreadableBody(reason, text string) error {
	return &unreadable{reason, http.StatusBadRequest, text}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package collect counts the decision logs that OPA servers upload, and passes
// them on.
package collect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"io"
	"log/slog"
	"net/http"
	"runtime"
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

const (
	// DefaultTimeout is the time that a target has. OPA waits 10 seconds for an
	// answer, and sends the body again otherwise.
	DefaultTimeout = 8 * time.Second
	// patience limits the time before a body is sent to the target. Together they
	// are less than OPA's 10 seconds.
	patience = 1500 * time.Millisecond
)

// Collector counts the decisions in the bodies that it gets by HTTP. It serves
// the metrics too.
//
// A body of usual size waits in memory for the target. It waits as it came, and
// holds nothing else. It is unpacked after the target has accepted it.
type Collector struct {
	options  Options
	timeout  time.Duration // from sending a body to its answer
	registry *prometheus.Registry
	Counter  *plugin.LogCounter
	metrics  *metrics
	refusals *refusals

	waiting  waiting
	counting sync.WaitGroup
	places   chan struct{} // for bodies in memory that are unpacked and counted
	streams  chan struct{} // for larger bodies, which are unpacked while they go to the target
	long     chan struct{} // for readers of long events, which need much memory
	readers  sync.Pool     // of *bodyReader, which wait for work
	repeated digests
	page     http.Handler
}

// New returns a collector. It fails if the configuration is invalid.
func New(o Options) (*Collector, error) {
	o.MaxPacked, o.MaxUnpacked, o.MaxEvent = cmp.Or(o.MaxPacked, DefaultPacked), cmp.Or(o.MaxUnpacked, DefaultUnpacked), cmp.Or(o.MaxEvent, DefaultEvent)
	registry := prometheus.NewRegistry()
	counter, err := plugin.NewLogCounter(registry, o.Config, plugin.Build{Version: o.Version}, o.Log)
	if err != nil {
		return nil, err
	}
	processors := runtime.GOMAXPROCS(0)
	c := &Collector{
		options: o, timeout: DefaultTimeout, registry: registry, Counter: counter, refusals: &refusals{log: o.Log},
		places: make(chan struct{}, processors), streams: make(chan struct{}, processors), long: make(chan struct{}, processors),
	}
	if o.Forward != nil {
		c.timeout = o.Forward.timeout
	}
	c.metrics = newMetrics(registry, &c.waiting, o.Forward != nil)
	c.readers.New = func() any { return newBodyReader(counter, int(o.MaxEvent), c.long) }
	c.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, Registry: registry})
	return c, nil
}

// Wait waits until the decisions of all bodies that were accepted count.
func (c *Collector) Wait() { c.counting.Wait() }

// ServeHTTP implements http.Handler. It is no http.ServeMux, which would change
// the paths of bodies.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := r.URL.Path == "/metrics" || r.URL.Path == "/health"
	switch {
	case own && r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET this path, and POST decision logs to any other", http.StatusMethodNotAllowed)
	case r.URL.Path == "/health":
		_, _ = io.WriteString(w, "{}\n")
	case !c.authorized(r):
		c.refuseToken(w, r, own)
	case own:
		c.page.ServeHTTP(w, r)
	case r.Method != http.MethodPost:
		c.refuseOther(w, r, bundle)
	default:
		c.collect(w, r)
	}
}

// authorized reports whether a request has the token. The token is not for the
// target.
func (c *Collector) authorized(r *http.Request) bool {
	if c.options.Token == nil {
		return true
	}
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	r.Header.Del("Authorization")
	return isBearer && subtle.ConstantTimeCompare([]byte(token), []byte(c.options.Token())) == 1
}

// collect answers a request with a body of decisions. It counts a body if and
// only if the target has accepted it, or if there is no target. OPA keeps a body
// until the answer is 200, so nothing is stored here.
func (c *Collector) collect(w http.ResponseWriter, r *http.Request) {
	if path := writtenPath(r.URL); !strings.HasPrefix(path, "/") || dotSegment.MatchString(path) {
		c.refuse(w, r, "path", http.StatusBadRequest, "the path must begin with / and have no segments . and ..")
		return
	}
	c.metrics.progress.Inc()
	defer c.metrics.progress.Dec()
	begin := time.Now()
	_ = http.NewResponseController(w).SetReadDeadline(begin.Add(c.timeout))
	ctx, cancel := context.WithDeadline(r.Context(), begin.Add(c.timeout+patience))
	defer cancel()
	r = r.WithContext(ctx)

	u, err := c.receive(r)
	switch {
	case err != nil:
		c.refuseSender(w, r, err)
	case u.isStatus():
		c.refuseOther(w, r, status)
	case u.whole && c.options.Forward != nil:
		c.relay(w, u)
		return
	default:
		c.read(w, u)
	}
	u.release()
}

// relay passes a whole body on, answers, and then counts the body. The answer
// does not wait for this.
func (c *Collector) relay(w http.ResponseWriter, u *upload) {
	answer := c.options.Forward.send(u)
	c.metrics.observe(answer)
	if !answer.accepted() {
		u.release()
		c.refuseTarget(w, u.Request, answer, "")
		return
	}
	c.counting.Go(func() {
		defer u.release()
		c.places <- struct{}{}
		defer func() { <-c.places }()
		reader := c.readers.Get().(*bodyReader)
		defer c.putBack(reader)
		body := newBody(bytes.NewReader(u.text))
		c.count(u, reader, body, reader.read(body, u.encoding(), c.options))
	})
	answer.write(w)
}

// read reads a body, passes it on at the same time if there is a target, counts
// it, and answers.
func (c *Collector) read(w http.ResponseWriter, u *upload) {
	places, limit := c.places, c.timeout
	if !u.whole {
		places = c.streams
	}
	if c.options.Forward != nil {
		limit = patience
	}
	ctx, cancel := context.WithTimeout(u.Context(), limit)
	defer cancel()
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		c.refuseSender(w, u.Request, cmp.Or(u.Context().Err(), errBusy))
		return
	}

	body := newBody(io.MultiReader(bytes.NewReader(u.text), u.Body))
	var answered <-chan answer
	if c.options.Forward != nil {
		answered = c.options.Forward.start(u, body)
	}
	reader := c.readers.Get().(*bodyReader)
	defer c.putBack(reader)
	unread := reader.read(body, u.encoding(), c.options)
	body.finish()
	answer := answer{status: http.StatusOK}
	if answered != nil {
		answer = <-answered
		c.metrics.observe(answer)
	}
	switch {
	case body.err != nil:
		c.refuseSender(w, u.Request, body.err)
	case !answer.accepted():
		c.refuseTarget(w, u.Request, answer, reader.server())
	case unread != nil && c.options.Forward == nil && !isOPA(u.Request):
		c.refuse(w, u.Request, unread.reason, unread.status, unread.text)
	default:
		c.count(u, reader, body, unread)
		answer.write(w)
	}
}

// count counts a body that was accepted.
func (c *Collector) count(u *upload, reader *bodyReader, body *body, unread *unreadable) {
	switch {
	case unread != nil:
		counter := c.metrics.lost
		if c.options.Forward != nil {
			counter = c.metrics.uncounted
		}
		counter.WithLabelValues(unread.reason).Inc()
		c.refusals.add("The decisions of an upload do not count.", u.Request, unread.reason, unread.text, reader.server())
	case !c.repeated.add(body.digest()):
		c.metrics.repeated.Inc()
	default:
		reader.batch.Count()
		c.metrics.counted.Inc()
		c.metrics.note(reader)
	}
}

func (c *Collector) putBack(reader *bodyReader) {
	reader.shrink()
	c.readers.Put(reader)
}

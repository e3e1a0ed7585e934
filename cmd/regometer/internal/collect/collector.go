// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package collect counts the decision logs that OPA servers upload, and passes
// them on.
package collect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/regometer/regometer/opa/plugin"
)

const (
	// DefaultTimeout is the time that a target has. OPA waits 10 seconds for an
	// answer, and sends the body again otherwise.
	DefaultTimeout = 8 * time.Second
	// patience limits the time before a body is sent to the target. Together they
	// are less than OPA's 10 seconds.
	patience = 1500 * time.Millisecond
)

// remembered limits the bodies that are recognised if they come again.
const remembered = 4096

// Collector counts the decisions in the bodies that it gets by HTTP. It serves
// the metrics too.
//
// A body waits in memory for the target. It waits as it came, and holds nothing
// else. It is unpacked after the target has accepted it.
type Collector struct {
	options  Options
	timeout  time.Duration // from sending a body to its answer
	registry *prometheus.Registry
	Counter  *plugin.LogCounter
	metrics  *metrics
	refusals *refusals

	waiting  atomic.Int64                            // bytes of the bodies that wait
	counting atomic.Int64                            // bodies that were accepted and do not count yet
	places   chan struct{}                           // for bodies that are unpacked and counted
	readers  sync.Pool                               // of *bodyReader, which wait for work
	repeated *lru.Cache[[sha256.Size]byte, struct{}] // by digest
	page     http.Handler
}

// ErrorLog returns the log for the http.Server of the collector.
func (c *Collector) ErrorLog() *log.Logger { return log.New(c.refusals, "", 0) }

// New returns a collector. It fails if the configuration is invalid.
func New(o Options) (*Collector, error) {
	o.MaxBody, o.MaxEvent = cmp.Or(o.MaxBody, DefaultBody), cmp.Or(o.MaxEvent, DefaultEvent)
	registry := prometheus.NewRegistry()
	counter, err := plugin.NewLogCounter(registry, o.Config, o.Version, o.Log)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		options: o, timeout: DefaultTimeout, registry: registry, Counter: counter, refusals: &refusals{log: o.Log},
		places: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	c.metrics = newMetrics(registry, &c.waiting)
	if o.Forward != nil {
		c.timeout, o.Forward.took = o.Forward.timeout, newTook(registry)
	}
	c.repeated, _ = lru.New[[sha256.Size]byte, struct{}](remembered) // it fails only for sizes below 1
	c.readers.New = func() any { return newReader(c.options, c.Counter) }
	if o.Profiler != nil {
		registry.MustRegister(o.Profiler)
	}
	c.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, Registry: registry})
	return c, nil
}

// Wait waits until the decisions of all bodies that were accepted count. It
// fails if ctx ends before. It looks again and again, because bodies may come in
// the meantime, which a sync.WaitGroup forbids.
func (c *Collector) Wait(ctx context.Context) error {
	for c.counting.Load() > 0 {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("some accepted uploads were not counted in time")
		}
	}
	return nil
}

// ServeHTTP implements http.Handler. It is no http.ServeMux, which would change
// the paths of bodies.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	profile := r.URL.Path == "/debug/pprof/rego" && c.options.Profiler != nil
	own := r.URL.Path == "/metrics" || r.URL.Path == "/health" || profile
	var a *answer
	switch {
	case own && r.Method != http.MethodGet && r.Method != http.MethodHead:
		a = refusal("", http.StatusMethodNotAllowed, "GET this path, and POST decision logs to any other")
		w.Header().Set("Allow", "GET, HEAD")
	case r.URL.Path == "/health":
		a = &answer{status: http.StatusOK, text: "{}\n"}
	case !c.authorized(r):
		a = refusal("token", http.StatusUnauthorized, "the request lacks the right bearer token")
		a.header.Set("WWW-Authenticate", "Bearer")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // the body is not read
		if own {
			c.refusals.add("A scrape was refused.", r.RemoteAddr, a)
			a.reason = ""
		}
	case profile:
		c.options.Profiler.ServeHTTP(w, r)
		return
	case own:
		c.page.ServeHTTP(w, r)
		return
	case r.Method != http.MethodPost:
		a = c.other(r, bundle, isOPA(r) && r.Method == http.MethodGet)
	default:
		a = c.collect(w, r)
	}
	if a.reason != "" {
		c.metrics.refused.WithLabelValues(a.reason).Inc()
		c.refusals.add("An upload was refused.", r.RemoteAddr, a)
	}
	a.write(w)
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

// other answers a request that is no upload.
func (c *Collector) other(r *http.Request, kind string, ofOPA bool) *answer {
	if ofOPA {
		c.metrics.other.WithLabelValues(kind).Inc()
		c.refusals.add("An OPA, or this collector with --config, asks for what is not here. Give its configuration a service of its own for decision logs.", "any OPA",
			refusal(kind, 0, "%s %.200s from %s", r.Method, r.URL.Path, r.RemoteAddr))
	}
	return refusal("", http.StatusNotFound, "regometer collect takes decision logs, by POST, and has a profile only with --profile: give bundles, discovery and status another service")
}

// collect answers a request with a body of decisions. It counts a body if and
// only if the target has accepted it, or if there is no target. OPA keeps a body
// until the answer is 200, so nothing is stored here.
func (c *Collector) collect(w http.ResponseWriter, r *http.Request) *answer {
	if path := writtenPath(r.URL); !strings.HasPrefix(path, "/") || dotSegment.MatchString(path) {
		return refusal("path", http.StatusBadRequest, "the path must begin with / and have no segments . and ..")
	}
	c.metrics.progress.Inc()
	defer c.metrics.progress.Dec()
	begin := time.Now()
	_ = http.NewResponseController(w).SetReadDeadline(begin.Add(c.timeout))
	ctx, cancel := context.WithDeadline(r.Context(), begin.Add(c.timeout+patience))
	defer cancel()

	u, err := receive(r.WithContext(ctx), &c.waiting)
	switch {
	case err != nil:
		u.release()
		return c.unread(err)
	case u.isStatus():
		u.release()
		return c.other(r, status, true)
	case c.options.Forward != nil:
		return c.relay(u)
	}
	defer u.release()
	select {
	case c.places <- struct{}{}:
		return c.count(u)
	case <-ctx.Done():
		return c.unread(cmp.Or(r.Context().Err(), errTurn))
	}
}

// unread says why a body was not read whole.
func (c *Collector) unread(err error) *answer {
	switch {
	case errors.Is(err, errLarge):
		return refusal("too_large", http.StatusRequestEntityTooLarge, "%v", err)
	case errors.Is(err, errBusy), errors.Is(err, errTurn):
		return refusal("busy", http.StatusServiceUnavailable, "%v", err)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return refusal("slow", http.StatusServiceUnavailable, "the body was not read within %v", c.timeout)
	}
	return refusal("sender", http.StatusBadRequest, "the body ends too early: %v", err)
}

// relay passes a body on, and then counts it. The answer does not wait for this.
func (c *Collector) relay(u *upload) *answer {
	a := c.options.Forward.send(u)
	if a.reason != "" {
		u.release()
		return a
	}
	c.counting.Add(1)
	go func() {
		defer c.counting.Add(-1)
		defer u.release()
		c.places <- struct{}{}
		c.count(u)
	}()
	return a
}

// count reads a body that the target has accepted, if there is one, and counts
// it. The caller has taken one of the places, which count gives back.
func (c *Collector) count(u *upload) *answer {
	defer func() { <-c.places }()
	a := &answer{status: http.StatusOK}
	// OPA sends a body again if it does not get the answer.
	digest := sha256.Sum256(u.text)
	if known, _ := c.repeated.ContainsOrAdd(digest, struct{}{}); known {
		c.metrics.repeated.Inc()
		return a
	}
	reader := c.readers.Get().(*bodyReader)
	defer func() {
		reader.shrink()
		c.readers.Put(reader)
	}()
	if unreadable := reader.read(bytes.NewReader(u.text), strings.ToLower(u.Header.Get("Content-Encoding")), c.options); unreadable != nil {
		c.repeated.Remove(digest)
		unreadable.id = reader.server()
		counter := c.metrics.lost
		if c.options.Forward != nil {
			counter = c.metrics.uncounted
		} else if !isOPA(u.Request) {
			return unreadable
		}
		counter.WithLabelValues(unreadable.reason).Inc()
		c.refusals.add("The decisions of an upload do not count.", u.RemoteAddr, unreadable)
		return a
	}
	reader.batch.Count()
	c.metrics.note(reader)
	c.metrics.counted.Inc()
	return a
}

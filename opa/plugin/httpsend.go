// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/opa/internal/hook"
)

// The causes of failed requests of http.send.
const (
	httpTimeout    = iota // there was no answer in time
	httpConnection        // the connection failed, or was cut
	httpStatus            // the answer had a status from 500 on
	httpOther             // anything else, such as a certificate or a client that left
)

var httpCauses = [...]string{httpTimeout: "timeout", httpConnection: "connection", httpStatus: "status", httpOther: "other"}

// httpFailures counts the failed requests of the process by cause. A built-in
// function does not know for which OPA of the process it runs.
var httpFailures [len(httpCauses)]atomic.Uint64

// countsHTTPSend says that CountHTTPSend was called.
var countsHTTPSend atomic.Bool

// CountHTTPSend replaces http.send in the whole process by a function that
// calls it, and that counts failed requests while a plugin is started. All
// plugins of the process then export the metric
// <namespace>_decision_http_send_failures_total. It does not exist without a
// call of CountHTTPSend. Further calls do nothing.
//
// OPA does not synchronise its table of built-in functions. So call
// CountHTTPSend in an init function, or at the beginning of main.
func CountHTTPSend() { replaceHTTPSend() }

// replaceHTTPSend does the work of CountHTTPSend. OPA has an evaluation option
// for this, but its server does not let plugins set it.
var replaceHTTPSend = sync.OnceFunc(func() {
	send := topdown.GetBuiltin(ast.HTTPSend.Name)
	topdown.RegisterBuiltinFunc(ast.HTTPSend.Name, func(b topdown.BuiltinContext, args []*ast.Term, iter func(*ast.Term) error) error {
		if hook.Started.Load() > 0 {
			outer := b.RoundTripper
			b.RoundTripper = func(t *http.Transport) http.RoundTripper { return httpCounter{transportOf(outer, t), b.Context} }
		}
		return send(b, args, iter)
	})
	countsHTTPSend.Store(true)
})

// transportOf returns the transport that http.send would use with this option.
func transportOf(option topdown.CustomizeRoundTripper, t *http.Transport) http.RoundTripper {
	switch {
	case option != nil:
		return option(t)
	case t != nil:
		return t
	}
	return http.DefaultTransport
}

// An httpCounter is a transport that counts failed requests.
type httpCounter struct {
	http.RoundTripper
	decision context.Context //nolint:containedctx // the request's context also ends with the time-out
}

func (c httpCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if cause := c.causeOf(r, response, err); cause >= 0 {
		httpFailures[cause].Add(1)
	}
	return response, err
}

// causeOf returns the cause of a failure, or -1 for a good answer.
func (c httpCounter) causeOf(r *http.Request, response *http.Response, err error) int {
	deadline, limited := r.Context().Deadline() // of the call
	var timeout net.Error
	var network *net.OpError
	switch {
	case err == nil && response.StatusCode < http.StatusInternalServerError:
		return -1
	case err == nil:
		return httpStatus
	case c.decision.Err() != nil:
		return httpOther
	case limited && !time.Now().Before(deadline), errors.As(err, &timeout) && timeout.Timeout():
		return httpTimeout
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return httpConnection
	}
	return httpOther
}

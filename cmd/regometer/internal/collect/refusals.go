// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// refuse answers an upload that is not accepted.
func (c *Collector) refuse(w http.ResponseWriter, r *http.Request, reason string, status int, text string) {
	c.metrics.refused.WithLabelValues(reason).Inc()
	c.refusals.add("An upload was refused.", r, reason, text, "")
	http.Error(w, text, status)
}

// refuseSender answers an upload that was not read whole.
func (c *Collector) refuseSender(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errBusy):
		c.refuse(w, r, "busy", http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		c.refuse(w, r, "slow", http.StatusServiceUnavailable, fmt.Sprintf("the body was not read within %v", c.timeout))
	default:
		c.refuse(w, r, "sender", http.StatusBadRequest, "the body ends too early: "+err.Error())
	}
}

// refuseTarget passes the answer of a target on that has not accepted a body.
// id is the server's, or "".
func (c *Collector) refuseTarget(w http.ResponseWriter, r *http.Request, a answer, id string) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		c.refuseSender(w, r, errors.New("the sender has gone"))
		return
	}
	text := fmt.Sprintf("the target answered with status %d", a.status)
	if a.err != nil {
		text = "the target did not answer: " + a.err.Error()
		a.status, a.body = http.StatusServiceUnavailable, []byte(text+"\n")
	}
	c.metrics.refused.WithLabelValues("target").Inc()
	c.refusals.add("An upload was refused.", r, "target", text, id)
	a.write(w)
}

// refuseToken answers a request without the token, and does not read its body.
func (c *Collector) refuseToken(w http.ResponseWriter, r *http.Request, own bool) {
	message := "A scrape was refused."
	if !own {
		message = "An upload was refused."
		c.metrics.refused.WithLabelValues("token").Inc()
	}
	const text = "the request lacks the right bearer token"
	c.refusals.add(message, r, "token", text, "")
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	http.Error(w, text, http.StatusUnauthorized)
}

// The requests of an OPA that are no uploads, as labels.
const (
	bundle = "bundle"
	status = "status"
)

// refuseOther answers a request that is no upload.
func (c *Collector) refuseOther(w http.ResponseWriter, r *http.Request, kind string) {
	if kind == status || isOPA(r) {
		c.metrics.other.WithLabelValues(kind).Inc()
		c.refusals.add("An OPA asks for what is not here. Give its configuration a service of its own for decision logs.", nil, kind, r.Method+" "+r.URL.Path, "")
	}
	http.Error(w, "regometer collect takes decision logs only, by POST: give bundles, discovery and status another service", http.StatusNotFound)
}

// maxSenders limits the senders that the log tells apart in a minute.
const maxSenders = 1000

// refusals writes to the log what was refused: the first at once, and then a
// line a minute for each message, sender and reason.
type refusals struct {
	log *slog.Logger

	mu      sync.Mutex
	recent  map[refusal]*repetition
	senders map[string]bool
}

type refusal struct{ message, sender, reason string }

type repetition struct {
	number   int // since the last line
	text, id string
}

// add notes a refusal. r is nil if all senders have a line together.
func (l *refusals) add(message string, r *http.Request, reason, text, id string) {
	key := refusal{message: message, reason: reason}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r != nil {
		if key.sender, _, _ = net.SplitHostPort(r.RemoteAddr); !l.senders[key.sender] && len(l.senders) >= maxSenders {
			key.sender = "others"
		}
	}
	a := l.recent[key]
	if a == nil {
		if len(l.recent) == 0 {
			l.recent, l.senders = map[refusal]*repetition{}, map[string]bool{}
			time.AfterFunc(time.Minute, l.sweep)
		}
		a = &repetition{}
		l.recent[key], l.senders[key.sender] = a, true
		l.write(key, repetition{1, text, id})
		return
	}
	*a = repetition{a.number + 1, text, id}
}

// sweep writes what was refused again in the last minute, and forgets the rest.
func (l *refusals) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.senders)
	for key, a := range l.recent {
		if a.number == 0 {
			delete(l.recent, key)
			continue
		}
		l.senders[key.sender] = true
		l.write(key, *a)
		a.number = 0
	}
	if len(l.recent) > 0 {
		time.AfterFunc(time.Minute, l.sweep)
	}
}

func (l *refusals) write(key refusal, a repetition) {
	line := l.log.With("reason", key.reason)
	if key.sender != "" {
		line = line.With("sender", key.sender)
	}
	if a.id != "" {
		line = line.With("id", a.id)
	}
	line.Warn(key.message, "number", a.number, "error", a.text)
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// answer is what a sender gets.
type answer struct {
	status int
	header http.Header
	text   string
	// reason says why an upload is not accepted, as a label, and problem says it
	// in words. Both are "" if it is accepted. id is the server's, or "".
	reason, problem, id string
}

// refusal returns an answer of the collector itself.
func refusal(reason string, status int, format string, values ...any) *answer {
	problem := fmt.Sprintf(format, values...)
	return &answer{
		status: status, header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, text: problem + "\n",
		reason: reason, problem: problem,
	}
}

// write answers. OPA 0.34 takes only status 200 as a success.
func (a *answer) write(w http.ResponseWriter) {
	for _, name := range []string{"Content-Type", "Retry-After", "WWW-Authenticate"} {
		for _, value := range a.header.Values(name) {
			w.Header().Add(name, value)
		}
	}
	if a.status/100 == 2 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.text)
}

// maxLines limits the lines of the log in a minute about different senders.
const maxLines = 1000

// refusals writes to the log what was refused: the first at once, and then a
// line a minute for each message, sender, reason and status.
type refusals struct {
	log    *slog.Logger
	mu     sync.Mutex
	recent map[refused]*repetition
}

type refused struct {
	message, sender, reason string
	status                  int
}

type repetition struct {
	number int // since the last line
	log    *slog.Logger
}

// add notes a refusal. The sender is an address, or another text.
func (l *refusals) add(message, sender string, a *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	host, _, _ := net.SplitHostPort(sender)
	key := refused{message, cmp.Or(host, sender), a.reason, a.status}
	if l.recent[key] == nil && len(l.recent) >= maxLines {
		key.sender = "others"
	}
	log := l.log.With("reason", a.reason, "from", key.sender, "problem", a.problem)
	if a.id != "" {
		log = log.With("id", a.id)
	}
	if r := l.recent[key]; r != nil {
		r.number, r.log = r.number+1, log
		return
	}
	log.Warn(message, "number", 1)
	if len(l.recent) == 0 {
		l.recent = map[refused]*repetition{}
		time.AfterFunc(time.Minute, l.sweep)
	}
	l.recent[key] = &repetition{}
}

// Write implements io.Writer for the log of an http.Server, whose lines about TLS
// name the sender.
func (l *refusals) Write(line []byte) (int, error) {
	if m := failedTLS.FindSubmatch(line); m != nil {
		l.add("A connection was refused.", string(m[1]), refusal("tls", 0, "%s", m[2]))
	} else {
		l.add("The server has a problem.", "the server", refusal("server", 0, "%s", line))
	}
	return len(line), nil
}

var failedTLS = regexp.MustCompile(`^http: TLS handshake error from (\S+): (.*)`)

// sweep writes what was refused again in the last minute, and forgets the rest.
func (l *refusals) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, r := range l.recent {
		if r.number == 0 {
			delete(l.recent, key)
			continue
		}
		r.log.Warn(key.message, "number", r.number)
		r.number = 0
	}
	if len(l.recent) > 0 {
		time.AfterFunc(time.Minute, l.sweep)
	}
}

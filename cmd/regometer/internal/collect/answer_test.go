// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// newLogged returns a collector, and a function that returns what it has logged
// since the last call, without times.
func newLogged(t *testing.T, o Options) (*Collector, func() string) {
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
	return newCollector(t, o), func() string { defer log.Reset(); return log.String() }
}

// The log has the first refusal of each sender and reason at once, and a line a
// minute for those that follow.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, log := newLogged(t, Options{Token: func() string { return "secret" }})
		upload := func(sender, token, body string) {
			r := httptest.NewRequest(http.MethodPost, "/logs", strings.NewReader(body))
			r.RemoteAddr, r.Header = sender+":1", http.Header{"Authorization": {"Bearer " + token}}
			c.ServeHTTP(httptest.NewRecorder(), r)
		}
		const first = `msg="An upload was refused." reason=token from=10.0.0.1 error="the request lacks the right bearer token" number=1` + "\n"
		upload("10.0.0.1", "old", "[]")
		if got := log(); got != first {
			t.Errorf("the log has %s", got)
		}
		for range 5 {
			upload("10.0.0.1", "old", "[]")
		}
		upload("10.0.0.1", "secret", "x")
		upload("10.0.0.2", "secret", `{"decision_id":"a","labels":{"id":"server a"},"path":"`+strings.Repeat("x", 100)+`"`)
		if got := log(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "reason=no_decisions from=10.0.0.1") {
			t.Errorf("the log has %s", got)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := log(); got != strings.Replace(first, "number=1", "number=5", 1) {
			t.Errorf("after a minute the log has %s", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		upload("10.0.0.1", "old", "[]")
		if got := log(); got != first || len(c.refusals.recent) != 1 {
			t.Errorf("after a quiet minute the log has %s", got)
		}
		for i := range 3 * maxLines {
			upload(fmt.Sprintf("10.1.%d.%d", i/250, i%250), "old", "[]")
		}
		if got := log(); strings.Count(got, "\n") != maxLines || !strings.Contains(got, "from=others ") || len(c.refusals.recent) > maxLines+1 {
			t.Errorf("of %d senders, the log has %d lines, and %d are remembered", 3*maxLines, strings.Count(got, "\n"), len(c.refusals.recent))
		}
	})
}

// Each reason is in the log, with the server's id if the body was unpacked.
func TestRefusalsByReason(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	x.respond(func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusForbidden) })
	long := strings.Replace(events("a", 1), "[", "["+strings.Repeat(" ", maxWhole), 1)
	for _, test := range []struct {
		forward    *Forward
		body, want string
	}{
		{forward, events("a", 1), `reason=target from=192.0.2.1 error="the target answered with status 403" number=1`},
		{forward, long, `reason=target from=192.0.2.1 error="the target answered with status 403" id=s1 number=1`},
		{nil, events("a", 1) + "\n{\"decision_id\":\"" + strings.Repeat("x", 5000), `reason=event_too_large from=192.0.2.1 error="an event has more than 4000 bytes" id=s1`},
		{nil, "x", "do not count."},
	} {
		c, log := newLogged(t, Options{Forward: test.forward, MaxEvent: 4000})
		send(t, c, opaAgent, "", test.body)
		if got := log(); !strings.Contains(got, test.want) {
			t.Errorf("the log has %s, want %s", got, test.want)
		}
	}
}

// What is no upload is refused before anything goes to the target, and does not
// count as an upload.
func TestOtherRequests(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	c, log := newLogged(t, Options{Forward: forward})
	const update = `{"labels":{"id":"s1"},"bundles":{"b":{"name":"b"}}}` + "\n"
	for _, test := range []struct {
		method, path, agent, body string
		want                      int
		kind                      string
	}{
		{"GET", "/bundles/b.tar.gz", opaAgent, "", 404, bundle},
		{"POST", "/status", opaAgent, update, 404, status},
		{"POST", "/base/status/partition", "proxy", update, 404, status},
		{"POST", "/other", opaAgent, " " + update, 404, status},
		{"POST", "/status", opaAgent, update[:len(update)-1] + strings.Repeat(" ", maxWhole), 404, status},
		{"GET", "/", "curl", "", 404, ""},
		{"PUT", "/logs", "curl", "[]", 404, ""},
		{"POST", "/other", "shipper", update, 200, ""},
		{"POST", "/status", "shipper", strings.Trim(events("a", 1), "[]"), 200, ""},
		{"POST", "/status", opaAgent, events("b", 1), 200, ""},
	} {
		before := testutil.ToFloat64(c.metrics.other.WithLabelValues(bundle)) + 10*testutil.ToFloat64(c.metrics.other.WithLabelValues(status))
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		r.Header.Set("User-Agent", test.agent)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		after := testutil.ToFloat64(c.metrics.other.WithLabelValues(bundle)) + 10*testutil.ToFloat64(c.metrics.other.WithLabelValues(status))
		if w.Code != test.want || after-before != map[string]float64{bundle: 1, status: 10}[test.kind] {
			t.Errorf("%s %s of %s: status %d, counted %v", test.method, test.path, test.agent, w.Code, after-before)
		}
	}
	if bodies, _ := x.got(); len(bodies) != 3 || counted(t, c, "refused") != 0 || counted(t, c, "decisions") != 2 {
		t.Errorf("the target has %d bodies, want 3; %v are refused, and %v decisions count", len(bodies), counted(t, c, "refused"), counted(t, c, "decisions"))
	}
	if got := log(); strings.Count(got, "An OPA asks") != 2 || !strings.Contains(got, "GET /bundles/b.tar.gz") {
		t.Errorf("the log has %s", got)
	}
}

// An OPA with one service for everything gets no bundle from the collector, but
// its decisions count.
func TestOneService(t *testing.T) {
	c := newCollector(t, Options{})
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	opa := startOPA(t, fmt.Sprintf(`
services: {acme: {url: %q}}
bundles: {b: {service: acme, polling: {min_delay_seconds: 1, max_delay_seconds: 1}}}
status: {service: acme}
decision_logs: {service: acme, reporting: {min_delay_seconds: 1, max_delay_seconds: 1}}`, server.URL))
	post(opa+"/v1/data/rbac/allow", `{}`)
	eventually(t, "a bundle and a status are refused, and the decision counts", func() bool {
		return testutil.ToFloat64(c.metrics.other.WithLabelValues(bundle)) > 0 && testutil.ToFloat64(c.metrics.other.WithLabelValues(status)) > 0 &&
			counted(t, c, "decisions") == 1
	})
	if n := counted(t, c, "refused") + counted(t, c, "lost"); n != 0 {
		t.Errorf("%v of them count as uploads", n)
	}
}

// The body of a request without the token is not read, and a scrape without it
// is no upload.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	c, log := newLogged(t, Options{Token: func() string { return "secret" }})
	server := httptest.NewServer(c)
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, "POST /logs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n[")
	_ = connection.SetDeadline(time.Now().Add(30 * time.Second))
	if text, err := io.ReadAll(connection); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401") {
		t.Errorf("%q, %v: the body is waited for", text, err)
	}
	response, err := http.Get(server.URL + "/metrics")
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	server.Close()
	if got := log(); counted(t, c, "refused") != 1 || !strings.Contains(got, "A scrape was refused.") || strings.Count(got, "\n") != 2 {
		t.Errorf("%v uploads are refused, and the log has %s", counted(t, c, "refused"), got)
	}
}

// A body goes where the target redirects it, as OPA would send it, without the
// credentials if that is another host.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other, _ := newTarget(t)
	x, forward := newTarget(t)
	c := newCollector(t, Options{Forward: forward})
	for _, test := range []struct {
		status, want, decisions int
		to, body                string
	}{
		{307, 200, 1, other.URL, events("a", 1)}, {308, 200, 1, other.URL, events("b", 1)},
		{302, 302, 0, other.URL, events("c", 1)}, {303, 303, 0, other.URL, events("d", 1)}, {307, 307, 0, "", events("e", 1)},
		{307, 307, 0, other.URL, strings.Repeat(" ", maxWhole) + events("f", 1)},
	} {
		before, _ := other.got()
		decisions := counted(t, c, "decisions")
		x.respond(func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", strings.Replace(test.to, "127.0.0.1", "localhost", 1)+"/new")
			w.WriteHeader(test.status)
		})
		if status, text := send(t, c, opaAgent, "", test.body); status != test.want {
			t.Errorf("status %d of the target becomes %d, want %d: %s", test.status, status, test.want, text)
		}
		after, last := other.got()
		if n := len(after) - len(before); n != test.decisions || counted(t, c, "decisions")-decisions != float64(n) {
			t.Errorf("status %d leads %d bodies to the other target", test.status, n)
		}
		if test.decisions > 0 && (after[len(after)-1] != test.body || last.RequestURI != "/new" || last.Header.Get("Authorization") != "") {
			t.Errorf("the other target gets %s for %s with %v", after[len(after)-1], last.RequestURI, last.Header)
		}
	}
}

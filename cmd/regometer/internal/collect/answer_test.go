// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/open-policy-agent/opa/v1/config"
)

var stamp = regexp.MustCompile(`(?m)^time=\S+ level=\S+ `)

// newLogged returns a collector, and a function that returns what it has logged
// since the last call, without times.
func newLogged(t *testing.T, o Options) (*Collector, func() string) {
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	return must(New(o)), func() string { defer log.Reset(); return stamp.ReplaceAllString(log.String(), "") }
}

// The log has the first refusal of each sender and reason at once, with the
// server's id if the body was unpacked, and a line a minute for those that
// follow.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, log := newLogged(t, Options{Token: func() string { return "secret" }, MaxEvent: 4000})
		upload := func(sender, token, body string) {
			r := request("POST", "/logs", body, "Authorization", "Bearer "+token)
			r.RemoteAddr = sender + ":1"
			ask(c, r)
		}
		expect := func(want string) {
			t.Helper()
			if got := log(); got != want {
				t.Errorf("the log has %s, want %s", got, want)
			}
		}
		const first = `msg="An upload was refused." reason=token from=10.0.0.1 error="the request lacks the right bearer token" number=1` + "\n"
		upload("10.0.0.1", "old", "[]")
		expect(first)
		for range 5 {
			upload("10.0.0.1", "old", "[]")
		}
		expect("")
		upload("10.0.0.1", "secret", "x")
		upload("10.0.0.2", "secret", events("a", 1)+"\n{\"decision_id\":\""+strings.Repeat("x", 5000))
		expect(`msg="An upload was refused." reason=no_decisions from=10.0.0.1 error="the body has no events of a decision log" number=1
msg="An upload was refused." reason=event_too_large from=10.0.0.2 error="an event has more than 4000 bytes" id=s1 number=1
`)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		expect(strings.Replace(first, "number=1", "number=5", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		upload("10.0.0.1", "old", "[]")
		expect(first) // after a minute without refusals, nothing is remembered
		for i := range 3 * maxLines {
			upload(fmt.Sprintf("10.1.%d.%d", i/250, i%250), "old", "[]")
		}
		if got := log(); strings.Count(got, "\n") != maxLines || !strings.Contains(got, "from=others ") || len(c.refusals.recent) > maxLines+1 {
			t.Errorf("of %d senders, the log has %d lines, and %d are remembered", 3*maxLines, strings.Count(got, "\n"), len(c.refusals.recent))
		}
	})
}

// What is no upload is refused before anything goes to the target, and does not
// count as an upload.
func TestOtherRequests(t *testing.T) {
	t.Parallel()
	const update = `{"labels":{"id":"s1"},"bundles":{"b":{"name":"b"}}}` + "\n"
	upload := tally{"counted": 2, "decisions": 2, "servers": 1, "target 2xx": 2}
	for _, test := range []struct {
		method, path, agent, body string
		want                      int
		counts                    tally // if it comes twice
	}{
		{"GET", "/bundles/b.tar.gz", opaAgent, "", 404, tally{"other_requests bundle": 2}},
		{"POST", "/status", opaAgent, update, 404, tally{"other_requests status": 2}},
		{"POST", "/base/status/partition", "proxy", update, 404, tally{"other_requests status": 2}},
		{"POST", "/other", opaAgent, " " + update, 404, tally{"other_requests status": 2}},
		{"POST", "/status", opaAgent, update + large, 404, tally{"other_requests status": 2}},
		{"POST", "/other", "shipper", update, 200, tally{"uncounted no_decisions": 2, "target 2xx": 2}},
		{"POST", "/status", "shipper", events("a", 1), 200, upload},
		{"POST", "/status", opaAgent, events("b", 1), 200, upload},
		{"GET", "/logs", "curl", "", 404, nil}, {"GET", "/", "curl", "", 404, nil}, {"PUT", "/logs", "curl", events("c", 1), 404, nil},
		{"POST", "/metrics", "curl", events("d", 1), 405, nil}, {"POST", "/health", "curl", events("e", 1), 405, nil},
		{"GET", "/metrics", "curl", "", 200, nil}, {"HEAD", "/metrics", "curl", "", 200, nil}, {"HEAD", "/health", "curl", "", 200, nil},
	} {
		c, log := newLogged(t, Options{Forward: forwardTo(func(r *http.Request) int { must(io.Copy(io.Discard, r.Body)); return 200 })})
		for i := range 2 {
			w := ask(c, request(test.method, test.path, test.body+strings.Repeat(" ", i), "User-Agent", test.agent))
			if w.Code != test.want || (w.Header().Get("Allow") == "GET, HEAD") != (test.want == 405) {
				t.Errorf("%s %s of %s: status %d, %v", test.method, test.path, test.agent, w.Code, w.Header())
			}
		}
		if got := log(); (test.want == 404 && test.counts != nil) != (strings.Count(got, "An OPA asks") == 1 && strings.Contains(got, `error="`+test.method+" "+test.path+`" number=1`)) {
			t.Errorf("the log has %s", got)
		}
		check(t, c, test.counts)
	}
}

// A body goes where the target redirects it, as OPA would send it, without the
// credentials if that is another host.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status    int
		to, body  string
		redirects bool
	}{
		{307, "http://y", events("a", 1), true}, {308, "http://y", events("b", 1), true}, {302, "http://y", events("c", 1), false}, {303, "http://y", events("d", 1), false},
		{307, "", events("e", 1), false}, {307, "http://y", large + events("f", 1), false},
	} {
		moved := 0
		forward := must(NewForward("http://x", config.Config{}, DefaultTimeout))
		forward.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			text := string(must(io.ReadAll(r.Body)))
			if r.URL.Host == "x" {
				return &http.Response{StatusCode: test.status, Header: http.Header{"Location": {test.to + "/new"}}, Body: http.NoBody}, nil
			}
			if moved++; text != test.body || r.URL.Path != "/new" || r.Method != "POST" || r.Header.Get("Authorization") != "" {
				t.Errorf("the other target gets %s for %s with %v", text, r.URL, r.Header)
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})
		c := newCollector(t, Options{Forward: forward})
		want, counts := test.status, tally{"refused target": 1, "target 3xx": 1}
		if test.redirects {
			want, counts = 200, tally{"counted": 1, "decisions": 1, "servers": 1, "target 2xx": 1}
		}
		if status := send(c, test.body, "Authorization", "Bearer secret"); status != want || (moved > 0) != test.redirects {
			t.Errorf("status %d of the target becomes %d, and %d bodies go to the other target", test.status, status, moved)
		}
		check(t, c, counts)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/open-policy-agent/opa/v1/config"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
)

var stamp = regexp.MustCompile(`(?m)^time=\S+ level=\S+ `)

// newLogged returns a collector, and a function that returns what it has logged
// since the last call, without times.
func newLogged(o Options) (*Collector, func() string) {
	var log lines
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	return must(New(o)), func() string {
		log.Lock()
		defer log.Unlock()
		defer log.Reset()
		return stamp.ReplaceAllString(log.String(), "")
	}
}

// lines is a log that a server may still write.
type lines struct {
	sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func newCollector(o Options) *Collector { c, _ := newLogged(o); return c }

// A tally has the collector's own series that are not 0, by short names, and the
// number of decisions.
type tally map[string]float64

var short = strings.NewReplacer("opa_", "", "regometer_collect_", "", "bodies_", "", "_total", "", "_duration_seconds", "")

// tallyOf returns what a collector has counted until now.
func tallyOf(c *Collector) tally {
	all := tally{}
	for _, f := range must(c.registry.Gather()) {
		if !strings.HasPrefix(f.GetName(), "regometer_collect_") && f.GetName() != "opa_decisions_total" {
			continue
		}
		for _, m := range f.Metric {
			name := short.Replace(f.GetName())
			if name != "decisions" && len(m.Label) > 0 {
				name += " " + m.Label[0].GetValue()
			}
			all[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if h := m.GetHistogram(); h.GetZeroThreshold() > 0 && len(h.GetBucket()) > 0 { // native and classic
				all[name] += float64(h.GetSampleCount())
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, n float64) bool { return n == 0 })
	return all
}

// check compares what has counted with want, after all bodies.
func check(t *testing.T, c *Collector, want tally) {
	t.Helper()
	noError(c.Wait(context.Background()))
	maps.DeleteFunc(want, func(_ string, n float64) bool { return n == 0 })
	if got := tallyOf(c); !maps.Equal(got, want) {
		t.Fatalf("the collector has %v, want %v", got, want)
	}
}

// events returns a body of n decisions. Bodies with different ids differ.
func events(id string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"labels":{"id":"s1"},"decision_id":"%s-%d","path":"rbac/allow","result":true,"metrics":{"timer_server_handler_ns":%d}}`, id, i, 1000+i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must(io.WriteString(w, text))
	noError(w.Close())
	return b.String()
}

// request returns a request with headers, each a name and a value.
func request(method, url, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	for h := range slices.Chunk(headers, 2) {
		r.Header.Add(h[0], h[1])
	}
	return r
}

// ask returns the answer to a request.
func ask(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const opaAgent = "Open-Policy-Agent/1.22.0 (linux, amd64)"

// send sends a body as an OPA does, and returns the status of the answer.
func send(h http.Handler, body string, headers ...string) int {
	return ask(h, request("POST", "/logs", body, append(headers, "User-Agent", opaAgent)...)).Code
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// forwardBy returns a target that is a function.
func forwardBy(target roundTripper) *Forward {
	return &Forward{url: &url.URL{Scheme: "http", Host: "x"}, client: &http.Client{Transport: target}, timeout: DefaultTimeout}
}

// forwardTo returns a target that is a function, which returns the status of the
// answer, or 0 if the target is down. Its time can be that of a bubble.
func forwardTo(target func(*http.Request) int) *Forward {
	return forwardBy(func(r *http.Request) (*http.Response, error) {
		if status := target(r); status != 0 {
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		}
		return nil, cmp.Or(r.Context().Err(), io.ErrClosedPipe)
	})
}

// A body is worth the same from each sender, with and without a target, and
// counts once. Each limit is exact. What cannot be read leaves no trace, and goes
// on too.
func TestBodies(t *testing.T) {
	t.Parallel()
	const longest, largest = 300_000, 2 << 20 // a reader's buffer must grow for the one, and a body's for the other
	ndjson := strings.NewReplacer("[{", "{", "},{\"labels\"", "}\n{\"labels\"", "}]", "}\n").Replace(events("n", 3))
	vector := `[{"message":` + fmt.Sprintf("%q", strings.Trim(events("v", 1), "[]")) + `,"source_type":"file","timestamp":"2026-01-02T03:04:05Z"}]`
	pad := func(size int) string { return strings.Repeat(" ", size-len(events("p", 1))) + events("p", 1) }
	const event = `{"labels":{"id":"s1"},"decision_id":"l","path":"p","metrics":{},"result":"%s"}`
	long := func(size int) string { return fmt.Sprintf(event, strings.Repeat("x", size-len(event)+len("%s"))) }
	statuses := map[string]int{"": 200, "no_decisions": 400, "gzip": 400, "encoding": 400, "too_large": 413, "event_too_large": 413} // without a target, of others than OPA
	for name, test := range map[string]struct {
		encoding, body string
		decisions      float64
		reason         string // why they do not count
	}{
		"plain":            {"identity", events("p", 5), 5, ""},
		"gzip":             {"GZIP", packed(events("g", 5)), 5, ""},
		"gzip members":     {"gzip", packed(events("g", 5)) + packed(events("h", 2)), 7, ""},
		"NDJSON":           {"", ndjson, 3, ""},
		"Vector":           {"", vector, 1, ""},
		"Fluent Bit":       {"", `[{"date":1767323045.0,"log":` + fmt.Sprintf("%q", strings.Trim(events("f", 1), "[]")+"\n") + `}]`, 1, ""},
		"empty":            {"", "", 0, ""},
		"no events":        {"", "[]", 0, ""},
		"largest":          {"", pad(largest), 1, ""},
		"largest unpacked": {"gzip", packed(pad(largest)), 1, ""},
		"longest":          {"", "[" + long(longest-1) + "]", 1, ""},
		"longest at last":  {"", long(longest - 1), 1, ""},
		"other JSON":       {"", `{"hello":"world"}`, 0, "no_decisions"},
		"not gzip":         {"gzip", events("x", 2), 0, "gzip"},
		"cut gzip":         {"gzip", packed(events("x", 900))[:800], 0, "gzip"},
		"other encoding":   {"br", events("x", 2), 0, "encoding"},
		"larger":           {"", pad(largest + 1), 0, "too_large"},
		"larger unpacked":  {"gzip", packed(pad(largest + 1)), 0, "too_large"},
		"longer":           {"", "[" + long(longest+1) + "," + events("x", 2)[1:], 0, "event_too_large"},
		"longer at last":   {"", events("x", 2) + "\n" + long(longest+1), 0, "event_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := forwardTo(func(r *http.Request) int {
				if text := string(must(io.ReadAll(r.Body))); text != test.body && text != events("last", 1) {
					t.Errorf("the target gets %d bytes", len(text))
				}
				return 204
			})
			for _, agent := range []string{opaAgent, "Open Policy Agent/0.34.2 (linux, amd64)", "curl/8"} {
				for _, forward := range []*Forward{nil, target} {
					c, log := newLogged(Options{Forward: forward, MaxBody: largest, MaxEvent: longest})
					kind, status := "lost ", 200
					if forward != nil {
						kind = "uncounted "
					} else if agent == "curl/8" {
						kind, status = "refused ", statuses[test.reason]
					}
					want := tally{kind + test.reason: 2, "counted": 1, "decisions": 1, "servers": 1}
					if test.reason == "" {
						want = tally{"counted": 2, "decisions": test.decisions + 1, "repeated": 1, "servers": 1}
					}
					if forward != nil {
						want["target 2xx"] = 3
					}
					for range 2 {
						if w := ask(c, request("POST", "/", test.body, "User-Agent", agent, "Content-Encoding", test.encoding)); w.Code != status {
							t.Errorf("%s gets status %d, want %d: %s", agent, w.Code, status, w.Body)
						}
						noError(c.Wait(context.Background()))
					}
					if got, refused := log(), test.reason != ""; refused != strings.Contains(got, "reason="+test.reason+" from=192.0.2.1") || refused != (got != "") {
						t.Errorf("the log has %s", got)
					}
					send(c, events("last", 1))
					check(t, c, want)
				}
			}
		})
	}
}

// The target gets the bytes and headers of a body, but none of the connection.
// It gets the credentials and headers of a service, and otherwise the sender's,
// but never the collector's token. OPA gets the target's status and text, and
// the headers that speak to it.
func TestForward(t *testing.T) {
	t.Parallel()
	const service = `{"acme": {"url": %q, "headers": {"X-Tenant": "a"}, "credentials": {"bearer": {"scheme": "Basic", "token": "other"}}}}`
	answer := http.Header{"Retry-After": {"7"}, "Www-Authenticate": {"Basic"}, "Content-Type": {"text/odd"}}
	for _, test := range []struct {
		service string
		token   func() string
		added   http.Header
	}{
		{"", nil, http.Header{"Authorization": {"Bearer secret"}}}, {"acme", nil, http.Header{"Authorization": {"Basic other"}, "X-Tenant": {"a"}}},
		{"", secret, nil}, {"acme", secret, http.Header{"Authorization": {"Basic other"}, "X-Tenant": {"a"}}},
	} {
		for _, body := range []string{events("a", 1), strings.Repeat(" ", 5<<20) + events("b", 1)} {
			sent := http.Header{"X-Kept": {"1", "2"}, "Content-Length": {fmt.Sprint(len(body))}, "Content-Type": {"application/json"}, "User-Agent": {opaAgent}}
			r := request("POST", "/logs", body, "Connection", "x-hop, X-Other", "Connection", "X-Third", "X-Hop", "1", "X-Other", "1", "X-Third", "1", "Authorization", "Bearer secret")
			for name := range strings.FieldsSeq("Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection Te Trailer Transfer-Encoding Upgrade Expect") {
				r.Header.Set(name, "1")
			}
			maps.Copy(r.Header, sent)
			maps.Copy(sent, test.added)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
				if text := must(io.ReadAll(got.Body)); string(text) != body || !reflect.DeepEqual(got.Header, sent) || !strings.HasPrefix(got.Host, "127.0.0.1:") {
					t.Errorf("%s gets %d bytes with %v, want %v", got.Host, len(text), got.Header, sent)
				}
				maps.Copy(w.Header(), answer)
				http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, strings.Repeat("x", maxAnswer+1))
			}))
			forward := must(NewForward(cmp.Or(test.service, server.URL), config.Config{Services: fmt.Appendf(nil, service, server.URL)}, DefaultTimeout))
			c, log := newLogged(Options{Forward: forward, Token: test.token})
			w, timeout := ask(c, r), forward.client.Transport.(*http.Transport).ResponseHeaderTimeout
			if !reflect.DeepEqual(w.Header(), answer) || w.Code != 429 || w.Body.Len() != maxAnswer || timeout > 0 {
				t.Errorf("OPA gets status %d, %v and %d bytes, and the time is limited to %v", w.Code, w.Header(), w.Body.Len(), timeout)
			}
			server.Close()
			if got := log(); !strings.HasSuffix(got, `reason=target from=192.0.2.1 problem="the target answered with status 429" number=1`+"\n") {
				t.Errorf("the log has %s", got)
			}
			check(t, c, tally{"refused target": 1, "target 4xx": 1})
		}
	}
	c, log := newLogged(Options{Forward: forwardBy(func(*http.Request) (*http.Response, error) { return nil, x509.UnknownAuthorityError{} })})
	status, got := send(c, events("c", 1)), log()
	if status != 503 || !strings.Contains(got, "tls.ca_cert") || strings.Contains(got, "http://x") {
		t.Errorf("without an answer of the target, OPA gets %d, and the log has %s", status, got)
	}
	check(t, c, tally{"refused target": 1, "target none": 1})
}

// A body that ends too early, or does not arrive in time, goes nowhere. OPA must
// send it again. One that never fits is refused before it is read whole.
func TestSenderBreaksOff(t *testing.T) {
	t.Parallel()
	target := forwardTo(func(*http.Request) int { t.Error("the target gets a part of a body"); return 0 })
	for _, test := range []struct {
		err    error
		blanks int
		want   tally
	}{
		{io.ErrUnexpectedEOF, 0, tally{"refused sender": 1, "status": 400}},
		{io.ErrUnexpectedEOF, 3 << 20, tally{"refused sender": 1, "status": 400}},
		{os.ErrDeadlineExceeded, 0, tally{"refused slow": 1, "status": 503}},
		{nil, maxWaiting, tally{"refused too_large": 1, "status": 413}},
	} {
		for _, forward := range []*Forward{nil, target} {
			for _, length := range []int64{-1, int64(test.blanks) + 1000} {
				c := newCollector(Options{Forward: forward})
				text := strings.Repeat(" ", test.blanks) + events("a", 3)
				r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(text), iotest.ErrReader(fmt.Errorf("read: %w", test.err))))
				r.ContentLength = length
				got := tally{"status": float64(ask(c, r).Code)}
				if maps.Copy(got, tallyOf(c)); !maps.Equal(got, test.want) {
					t.Errorf("%v after %d bytes: %v, want %v", test.err, len(text), got, test.want)
				}
			}
		}
	}
}

func secret() string { return "secret" }

// Requests need the token. The body of one without it is not read, and a scrape
// without it is no upload.
func TestToken(t *testing.T) {
	t.Parallel()
	c, log := newLogged(Options{Token: secret})
	for path, want := range map[string]int{"/metrics": 401, "/health": 200} {
		for _, header := range []string{"Bearer secre", "secret", ""} {
			w := ask(c, request("GET", path, "", "Authorization", header))
			if w.Code != want || (w.Header().Get("WWW-Authenticate") == "Bearer") != (want == 401) {
				t.Errorf("%s with %q: %d, %v", path, header, w.Code, w.Header())
			}
		}
	}
	server := httptest.NewServer(c)
	endless, _ := io.Pipe()
	client := &http.Client{Timeout: 30 * time.Second} // the body is not waited for
	if status, _ := over(client, "POST", server.URL+"/logs", endless); status != http.StatusUnauthorized {
		t.Errorf("without a token the status is %d", status)
	}
	server.Close()
	check(t, c, tally{"refused token": 1})
	if got := log(); strings.Count(got, "\n") != 2 || strings.Count(got, "A scrape was refused.") != 1 {
		t.Errorf("the log has %s", got)
	}
}

// Servers are told apart by their ids, up to a number and a length, while they
// send.
func TestServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCollector(Options{})
		for _, step := range []struct {
			ids      []string
			from, to int // more ids
			want     float64
		}{
			{ids: []string{"a", "b", "a", "", strings.Repeat("x", maxID), strings.Repeat("x", maxID+1)}, want: 3},
			{ids: []string{"a"}, want: 3}, {ids: []string{"a"}, want: 1}, {want: 1}, {want: 0}, // with half of the time in between
			{to: maxServers + 1, want: maxServers}, {ids: []string{"0", "1"}, from: maxServers, to: maxServers + 10, want: maxServers},
			{want: 2}, {want: 0}, {to: maxServers, want: -1}, {want: -1}, {ids: []string{"a"}, want: 1}, // without a scrape in between
		} {
			for i := step.from; i < step.to; i++ {
				step.ids = append(step.ids, fmt.Sprint(i))
			}
			body := ""
			for _, id := range step.ids {
				body += fmt.Sprintf(`{"decision_id":"%v","labels":{"id":"%s"},"path":"p","metrics":{}}`+"\n", time.Now(), id)
			}
			if status := send(c, body); status != 200 || step.want >= 0 && tallyOf(c)["servers"] != step.want {
				t.Errorf("%d ids: status %d, and %v, want %v servers", len(step.ids), status, tallyOf(c), step.want)
			}
			time.Sleep(10*time.Minute + time.Second)
		}
	})
}

// What waits is bounded. Beyond the bound, bodies are refused before anything
// goes to the target. What no longer waits is given back.
func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		status := 200
		c := newCollector(Options{Forward: forwardTo(func(*http.Request) int { time.Sleep(5 * time.Second); return status })})
		const size = 100_000
		fits := float64(maxWaiting / (perBody + size + 1))
		for i := range int(fits) + 10 {
			go send(c, fmt.Sprintf("%*d", size, i))
		}
		synctest.Wait()
		waiting := tallyOf(c)["waiting_bytes"]
		if got := tallyOf(c); waiting > maxWaiting || waiting < maxWaiting*9/10 || !maps.Equal(got, tally{"in_progress": fits, "refused busy": 10, "waiting_bytes": waiting}) {
			t.Errorf("of %v bodies that fit, the collector has %v", fits, got)
		}
		time.Sleep(6 * time.Second)
		check(t, c, tally{"refused busy": 10, "target 2xx": fits, "uncounted no_decisions": fits})
		for _, body := range []string{events("a", 1), "x", strings.Repeat(" ", 3<<20), `{"labels":{}}`} {
			send(c, body)
		}
		status = 500
		send(c, events("refused", 1))
		gone, leave := context.WithCancel(t.Context())
		from, to := io.Pipe()
		large := httptest.NewRequestWithContext(gone, http.MethodPost, "/", from)
		large.ContentLength = maxWaiting / 2
		go ask(c, large)
		synctest.Wait()
		if n := tallyOf(c)["waiting_bytes"]; n != perBody+firstRead {
			t.Errorf("a large body that does not come holds %v bytes", n)
		}
		leave()
		noError(to.CloseWithError(io.ErrUnexpectedEOF))
		synctest.Wait()
		ask(c, request("POST", "/", "[]").WithContext(gone))
		check(t, c, tally{
			"refused busy": 10, "target 2xx": fits + 3, "uncounted no_decisions": fits + 1, "counted": 2, "decisions": 1, "servers": 1,
			"other_requests status": 1, "refused target": 1, "target 5xx": 1, "refused sender": 2,
		})
	})
}

// Uploads may come while Wait waits, as after the time of a shutdown. The race
// detector sees whether they may.
func TestWaitDuringUploads(t *testing.T) {
	c := newCollector(Options{Forward: forwardTo(func(*http.Request) int { return 200 })})
	var sent atomic.Bool
	go func() {
		defer sent.Store(true)
		for i := range 300 {
			send(c, events(fmt.Sprint(i), 1))
		}
	}()
	for !sent.Load() {
		noError(c.Wait(t.Context()))
	}
	check(t, c, tally{"counted": 300, "decisions": 300, "servers": 1, "target 2xx": 300})
}

// An answer of the target does not wait until a body is counted. Without a
// target, a body waits for its place until OPA would give up.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCollector(Options{Forward: forwardTo(func(*http.Request) int { time.Sleep(5 * time.Second); return 200 })})
		c.places = make(chan struct{}, 1)
		c.places <- struct{}{}
		begin := time.Now()
		for i := range 3 {
			send(c, events(fmt.Sprint("a", i), 1))
		}
		if took := time.Since(begin); took != 3*5*time.Second {
			t.Errorf("three answers of the target take %v", took)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if c.Wait(gone) == nil {
			t.Error("bodies that wait count")
		}
		got := tallyOf(c)
		if delete(got, "waiting_bytes"); !maps.Equal(got, tally{"target 2xx": 3}) {
			t.Errorf("while there is no place the collector has %v", got)
		}
		<-c.places
		check(t, c, tally{"counted": 3, "decisions": 3, "servers": 1, "target 2xx": 3})

		c = newCollector(Options{})
		c.places = make(chan struct{}, 1)
		c.places <- struct{}{}
		begin = time.Now()
		if status, took := send(c, events("b", 1)), time.Since(begin); status != 503 || took != DefaultTimeout+patience {
			t.Errorf("without a place the status is %d after %v", status, took)
		}
		time.AfterFunc(time.Second, func() { <-c.places })
		send(c, events("b", 1))
		check(t, c, tally{"refused busy": 1, "counted": 1, "decisions": 1, "servers": 1})
	})
}

// deadlines is an answer that notes the deadline of reading.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

// The target has the timeout from the moment when a body is sent, and all
// together stays below OPA's 10 seconds. A request ends when its sender has
// gone.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		active := 0
		forward := forwardTo(func(r *http.Request) int { active++; <-r.Context().Done(); active--; return 0 })
		for _, test := range []struct {
			timeout, delay, leaves, want time.Duration
			blanks, status               int
			reason                       string
		}{
			{8 * time.Second, 0, time.Hour, 8 * time.Second, 0, 503, "target"},
			{8 * time.Second, time.Second, time.Hour, 9 * time.Second, 0, 503, "target"},
			{8 * time.Second, 7 * time.Second, time.Hour, 9500 * time.Millisecond, 0, 503, "target"},
			{8 * time.Second, 0, time.Hour, 8 * time.Second, 2 << 20, 503, "target"},
			{8 * time.Second, 10 * time.Second, time.Hour, 10 * time.Second, 0, 503, "slow"},
			{20 * time.Second, 0, time.Hour, 20 * time.Second, 0, 503, "target"},
			{8 * time.Second, 0, 3 * time.Second, 3 * time.Second, 0, 400, "sender"},
		} {
			forward.timeout = test.timeout
			c := newCollector(Options{Forward: forward})
			begin := time.Now()
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(test.leaves, leave)
			from, to := io.Pipe()
			go func() {
				must(io.WriteString(to, "["))
				time.Sleep(test.delay)
				must(io.WriteString(to, strings.Repeat(" ", test.blanks)+"]"))
				noError(to.Close())
			}()
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", from))
			if took := time.Since(begin); w.Code != test.status || took != test.want || w.read != begin.Add(test.timeout) || tallyOf(c)["refused "+test.reason] != 1 || active != 0 {
				t.Errorf("%+v: status %d after %v, reading until %v, and %v", test, w.Code, took, w.read.Sub(begin), tallyOf(c))
			}
		}
	})
}

// Bodies of every kind at random: what counts is what a simple reference says.
// Readers are used again, and keep nothing.
func TestBodiesModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 2))
		status := 200
		forward := forwardTo(func(r *http.Request) int {
			_, _ = io.CopyN(io.Discard, r.Body, random.Int64N(400_000)) // it may know enough
			return status
		})
		c := newCollector(Options{Forward: []*Forward{nil, forward}[seed%2], MaxEvent: 100_000, MaxBody: 3_000_000})
		want, known := tally{}, []string{}
		for i := range 60 {
			n := []int{0, 1, 2, 30, 5000}[random.IntN(5)]
			body, unread, problem := events(fmt.Sprint("m", i), n), "", "" // unread says why it is not readable
			switch random.IntN(12) {
			case 0:
				body, problem = body+"\n{\"decision_id\":\"x\",\"path\":\"p", "truncated"
				unread = map[bool]string{true: "no_decisions"}[n == 0]
			case 1:
				body, problem, n = body+"\n"+`{"decision_id":"x","path":"p"}`, "no_metrics", n+1
			case 2:
				body, unread = body+"\n"+`{"decision_id":"`+strings.Repeat("x", 200_000)+`"}`, "event_too_large"
			case 3:
				body, unread = "x"+strings.Repeat(" ", random.IntN(9)), "no_decisions"
			case 4:
				body, unread = body+strings.Repeat(" ", 3_000_000), "too_large"
			}
			if random.IntN(2) == 0 && unread != "too_large" {
				if body = packed(body); random.IntN(5) == 0 && unread != "event_too_large" {
					body, unread = body[:len(body)-1], "gzip"
				}
			}
			if len(known) > 0 && random.IntN(6) == 0 {
				body, unread = known[random.IntN(len(known))], ""
			}
			encoding := map[bool]string{true: "gzip"}[strings.HasPrefix(body, "\x1f")]
			if status = 200; c.options.Forward != nil {
				status = []int{200, 200, 200, 400, 429, 503, 302}[random.IntN(7)]
				want[fmt.Sprintf("target %dxx", status/100)]++
			}
			if got := send(c, body, "Content-Encoding", encoding); got != status {
				t.Fatalf("seed %d, body %d of %d bytes: status %d, want %d", seed, i, len(body), got, status)
			}
			switch {
			case status != 200:
				want["refused target"]++
			case unread != "":
				want[[]string{"lost ", "uncounted "}[seed%2]+unread]++
			case slices.Contains(known, body):
				want["repeated"]++
			default:
				want["counted"]++
				want["decisions"] += float64(n)
				known = append(known, body)
				if problem != "" {
					want["event_problems "+problem]++
				}
			}
			want["servers"] = min(want["decisions"]-want["event_problems no_metrics"], 1) // events with problems name none
			check(t, c, want)
		}
	}
}

// The target gets the path as it was sent. A path with dot segments goes
// nowhere.
func TestPaths(t *testing.T) {
	t.Parallel()
	var got string
	forward := forwardTo(func(r *http.Request) int { got = r.URL.RequestURI(); return 200 })
	c := newCollector(Options{Forward: forward})
	for _, base := range []string{"", "/tenant-a", "/tenant-a/"} {
		forward.url.Path = base
		for path, want := range map[string]string{
			"/": "/", "/logs": "/logs", "//logs": "//logs", "/logs//x/": "/logs//x/", "/logs/a%2Fb": "/logs/a%2Fb", "/%6cogs": "/%6cogs",
			"/logs?x=%2e%2e/&y=1;z": "/logs?x=%2e%2e/&y=1;z", "/...": "/...", "/a..b/.c/d.": "/a..b/.c/d.", "/a;b=c": "/a;b=c", "/%25": "/%25",
			"/a|b%2F\"": "/a%7Cb%2F%22", "/\xc3\xa9": "/%C3%A9", "/\xff%7e": "/%FF%7e", "http://other/logs": "/logs",
		} {
			if w := ask(c, request("POST", path, "[]")); w.Code != 200 || got != strings.TrimSuffix(base, "/")+want {
				t.Errorf("%s behind %q: status %d %s, and the target gets %s", path, base, w.Code, w.Body, got)
			}
		}
	}
	noError(c.Wait(context.Background()))
	want := tallyOf(c)
	for _, dots := range []string{".", "..", "%2e%2e", ".%2E", "%2e", "%252e.", "%25252e%252E"} {
		for _, end := range []string{"", "/x", "%2fx", "\\x", "%5Cx", "%252Fx", ";a/x", "%3bx", "%3F", "%23", "#", "%00"} {
			for _, begin := range []string{"/", "/a/", "/a%2F", "/a\\", "/a%5c", "/a%252f"} {
				if want["refused path"]++; ask(c, request("POST", begin+dots+end, "[]")).Code != http.StatusBadRequest {
					t.Errorf("%s is not refused", begin+dots+end)
				}
			}
		}
	}
	want["refused path"]++
	ask(c, request("POST", "*", "[]"))
	check(t, c, want)
}

// No text of a sender is a label, whether the body counts or not. Only the
// policy and the configuration give labels. Without a policy, there is no number
// of its paths.
func TestLabels(t *testing.T) {
	t.Parallel()
	hostile := regexp.MustCompile(`"(x|y)([^"]*)"`).ReplaceAllString(`{"decision_id":"xd","labels":{"id":"xl","x":"xv","version":"x"},"bundles":{"xb":{"revision":"xr"}},"revision":"xr",
		"path":"PATH","query":"xq","requested_by":"xa","trace_id":"xt","span_id":"xs","type":"xt","rule_labels":[{"x":"xx"}],"result":RESULT,
		"error":{"code":"xc","message":"xm","x":"y"},"metrics":{"timer_xt_ns":1,"counter_xc":2,"histogram_xh":{"x":1},"timer_rego_query_eval_ns":3}}`+"\n", `"$1${2}evil"`)
	hostile += strings.NewReplacer(`"error"`, `"other"`, `"query"`, `"q"`).Replace(hostile)
	body := ""
	for i, path := range []string{"a/b", "(query)", "", "users/evil@example.com/role", "evil", "a/evil", "(evil)"} {
		body += strings.NewReplacer("PATH", path, "RESULT", []string{"true", `{"evil":"evil"}`, "null"}[i%3]).Replace(hostile)
	}
	for config, want := range map[string]string{
		"": `path="(data)" path="(query)" path="other"`, `{"paths": false}`: `path="all"`,
		`{"paths": {"allow": ["a/b"], "prefixes": ["users/*/role"]}}`: `path="(data)" path="(query)" path="a/b" path="other" path="users/*/role"`,
	} {
		status := 401
		c := newCollector(Options{Config: []byte(config), Forward: forwardTo(func(*http.Request) int { return status })})
		send(c, body)
		status = 200
		send(c, body)
		page := scrape(c)
		check(t, c, tally{"counted": 1, "decisions": 14, "servers": 1, "refused target": 1, "target 2xx": 1, "target 4xx": 1})
		labels := slices.Sorted(slices.Values(regexp.MustCompile(`path="[^"]*"`).FindAllString(page, -1)))
		if got := strings.Join(slices.Compact(labels), " "); got != want || strings.Contains(page, "evil") || strings.Contains(page, "policy_paths") {
			t.Errorf("%s: the labels are %s, want %s, and the page is\n%s", config, got, want, page)
		}
	}
}

// The log has the first refusal of each sender and reason at once, with the
// server's id if the body was unpacked, and a line a minute for those that
// follow.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, log := newLogged(Options{Token: secret, MaxEvent: 4000})
		upload := func(sender, token, body string) {
			r := request("POST", "/logs", body, "Authorization", "Bearer "+token)
			r.RemoteAddr = sender + ":1"
			ask(c, r)
		}
		expect := func(want string) {
			t.Helper()
			c.refusals.mu.Lock() // the log is written under it
			defer c.refusals.mu.Unlock()
			if got := log(); got != want {
				t.Errorf("the log has %s, want %s", got, want)
			}
		}
		const first = `msg="An upload was refused." reason=token from=10.0.0.1 problem="the request lacks the right bearer token" number=1` + "\n"
		upload("10.0.0.1", "old", "[]")
		expect(first)
		for range 5 {
			upload("10.0.0.1", "old", "[]")
		}
		expect("")
		upload("10.0.0.1", "secret", "x")
		upload("10.0.0.2", "secret", events("a", 1)+"\n{\"decision_id\":\""+strings.Repeat("x", 5000))
		expect(`msg="An upload was refused." reason=no_decisions from=10.0.0.1 problem="the body has no events of a decision log" number=1
msg="An upload was refused." reason=event_too_large from=10.0.0.2 problem="an event has more than 4000 bytes" id=s1 number=1
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
		{"POST", "/status", "proxy", update, 404, tally{"other_requests status": 2}},
		{"POST", "/base/status/partition", "proxy", update, 404, tally{"other_requests status": 2}},
		{"POST", "/other", opaAgent, " " + update, 404, tally{"other_requests status": 2}},
		{"POST", "/status", opaAgent, update + strings.Repeat(" ", 3<<20), 404, tally{"other_requests status": 2}},
		{"POST", "/other", "shipper", update, 200, tally{"uncounted no_decisions": 2, "target 2xx": 2}},
		{"POST", "/status", "shipper", events("a", 1), 200, upload},
		{"POST", "/status", opaAgent, events("b", 1), 200, upload},
		{"GET", "/logs", "curl", "", 404, nil}, {"GET", "/", "curl", "", 404, nil}, {"PUT", "/logs", "curl", events("c", 1), 404, nil},
		{"POST", "/metrics", "curl", events("d", 1), 405, nil}, {"POST", "/health", "curl", events("e", 1), 405, nil},
		{"GET", "/metrics", "curl", "", 200, nil}, {"HEAD", "/metrics", "curl", "", 200, nil}, {"HEAD", "/health", "curl", "", 200, nil},
	} {
		c, log := newLogged(Options{Forward: forwardTo(func(r *http.Request) int { must(io.Copy(io.Discard, r.Body)); return 200 })})
		for i := range 2 {
			w := ask(c, request(test.method, test.path, test.body+strings.Repeat(" ", i), "User-Agent", test.agent))
			if h := w.Header(); w.Code != test.want || w.Code >= 400 && h.Get("Content-Type") != "text/plain; charset=utf-8" || (h.Get("Allow") == "GET, HEAD") != (w.Code == 405) {
				t.Errorf("%s %s of %s: status %d, %v", test.method, test.path, test.agent, w.Code, w.Header())
			}
		}
		check(t, c, test.counts)
		if got := log(); (test.want == 404 && test.counts != nil) != (strings.Count(got, "asks for what is not here") == 1 && strings.Contains(got, `problem="`+test.method+" "+test.path+` from 192.0.2.1:1234" number=1`)) {
			t.Errorf("the log has %s", got)
		}
	}
}

// A body goes where the target redirects it, as OPA would send it, without the
// credentials if that is another host.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status   int
		to, body string
		want     int
	}{
		{307, "http://y", events("a", 1), 200}, {308, "http://y", events("b", 1), 200}, {302, "http://y", events("c", 1), 302}, {303, "http://y", events("d", 1), 303},
		{307, "", events("e", 1), 307}, {307, "http://y", strings.Repeat(" ", 5<<20) + events("f", 1), 200},
	} {
		forward := must(NewForward("http://x", config.Config{}, DefaultTimeout))
		forward.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "x" {
				return &http.Response{StatusCode: test.status, Header: http.Header{"Location": {test.to + "/new"}}, Body: http.NoBody}, nil
			}
			if text := must(io.ReadAll(r.Body)); string(text) != test.body || r.URL.Path != "/new" || r.Method != http.MethodPost || r.Header.Get("Authorization") != "" {
				t.Errorf("the other target gets %s for %s with %v", text, r.URL, r.Header)
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})
		c := newCollector(Options{Forward: forward})
		counts := tally{"refused target": 1, "target 3xx": 1}
		if test.want == 200 {
			counts = tally{"counted": 1, "decisions": 1, "servers": 1, "target 2xx": 1}
		}
		if status := send(c, test.body, "Authorization", "Bearer secret"); status != test.want {
			t.Errorf("status %d of the target becomes %d, want %d", test.status, status, test.want)
		}
		check(t, c, counts)
	}
}

// A reader works for as long as the process. What a body makes it remember must
// not stay.
func TestReaderKeepsLittle(t *testing.T) {
	t.Parallel()
	c := newCollector(Options{})
	reader := newReader(c.options, c.Counter)
	read := func(text string) {
		t.Helper()
		if err := reader.read(strings.NewReader(text), "", c.options); err != nil {
			t.Fatal(err.problem)
		}
		reader.batch.Count()
	}

	const names, size = 2000, 1000
	var text strings.Builder
	for i := range names {
		name := fmt.Sprintf("%0*d", size, i)
		fmt.Fprintf(&text, `{"decision_id":"2","path":%q,"result":true,"metrics":{"timer_server_handler_ns":1,"timer_%s_ns":1}}`+"\n", name, name)
		if i%100 > 0 {
			continue
		}
		read(text.String())
		text.Reset()
		kept := 0
		for path := range reader.paths {
			kept += len(path)
		}
		for _, key := range reader.keys {
			if kept += len(key); len(key) > maxKey+len("_ns") {
				t.Fatalf("the key %q is kept", key)
			}
		}
		if kept > maxKnown+2*size {
			t.Fatalf("after %d names of %d bytes the reader keeps %d bytes, want at most %d", i, size, kept, maxKnown)
		}
	}
	const handler = `opa_decision_stage_duration_seconds_count{stage="server_handler"}`
	if got, want := value(scrape(c), handler), fmt.Sprint(names-100+1); got != want {
		t.Errorf("after it has forgotten names, the stage has %s values, want %s", got, want)
	}
}

// BenchmarkCollect counts bodies as OPA uploads them by default: arrays of
// events of 0.5 KB, 32 KB packed by gzip. The least is unpacking and reading
// them.
func BenchmarkCollect(b *testing.B) {
	var log bytes.Buffer
	noError(samplelog.Write(&log, samplelog.Options{Size: 190_000}))
	decisions := bytes.Count(log.Bytes(), []byte("\n"))
	body := packed("[" + strings.ReplaceAll(strings.TrimSpace(log.String()), "\n", ",") + "]")
	c := must(New(Options{}))
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.repeated.Purge() // each body is new
			if status := send(c, body, "Content-Encoding", "gzip"); status != http.StatusOK {
				b.Error(status)
			}
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(decisions), "ns/decision")
}

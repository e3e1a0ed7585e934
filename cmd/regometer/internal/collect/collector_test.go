// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
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
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/regometer/regometer/internal/app/samplelog"
)

func newCollector(t *testing.T, o Options) *Collector {
	t.Helper()
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counted returns the bodies by what happened to them, or the decisions.
func counted(t *testing.T, c *Collector, what string) (sum float64) {
	t.Helper()
	c.Wait()
	families, err := c.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name := f.GetName(); name == "regometer_collect_bodies_"+what+"_total" || name == "opa_"+what+"_total" {
			for _, m := range f.Metric {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// scrape returns the page of metrics.
func scrape(c *Collector) string {
	c.Wait()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// events returns a body of n decisions. Bodies with different ids differ.
func events(id string, n int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"labels":{"id":"s1"},"decision_id":"%s-%d","path":"rbac/allow","result":true,"metrics":{"timer_server_handler_ns":%d}}`, id, i, 1000+i)
	}
	return b.String() + "]"
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

const opaAgent = "Open-Policy-Agent/1.22.0 (linux, amd64)"

// send sends a body and returns the status and the text of the answer.
func send(t *testing.T, h http.Handler, agent, encoding, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/logs/part?x=1", strings.NewReader(body))
	r.Header.Set("User-Agent", agent)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	r.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestBodies(t *testing.T) {
	t.Parallel()
	ndjson := strings.NewReplacer("[{", "{", "},{\"labels\"", "}\n{\"labels\"", "}]", "}\n").Replace(events("n", 3))
	vector := `[{"message":` + fmt.Sprintf("%q", strings.Trim(events("v", 1), "[]")) + `,"source_type":"file","timestamp":"2026-01-02T03:04:05Z"}]`
	for name, test := range map[string]struct {
		encoding, body string
		decisions      float64
		status         int // for others than OPA
		what           string
	}{
		"plain":          {"", events("p", 5), 5, 200, "counted"},
		"gzip":           {"gzip", packed(events("g", 5)), 5, 200, "counted"},
		"gzip members":   {"gzip", packed(events("g", 5)) + packed(events("h", 2)), 7, 200, "counted"},
		"NDJSON":         {"", ndjson, 3, 200, "counted"},
		"Vector":         {"", vector, 1, 200, "counted"},
		"Fluent Bit":     {"", `[{"date":1767323045.0,"log":` + fmt.Sprintf("%q", strings.Trim(events("f", 1), "[]")+"\n") + `}]`, 1, 200, "counted"},
		"empty":          {"", "", 0, 200, "counted"},
		"no events":      {"", "[]", 0, 200, "counted"},
		"a broken event": {"", events("b", 2) + `{"decision_id":"x","path":"p","metrics":{"timer_a_ns":` + "\n" + events("c", 2), 4, 200, "counted"},
		"other JSON":     {"", `{"hello":"world"}`, 0, 400, "lost"},
		"not gzip":       {"gzip", events("x", 2), 0, 400, "lost"},
		"cut gzip":       {"gzip", packed(events("x", 900))[:800], 0, 400, "lost"},
		"other encoding": {"br", events("x", 2), 0, 400, "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, agent := range []string{opaAgent, "Open Policy Agent/0.34.2 (linux, amd64)"} {
				c := newCollector(t, Options{})
				if status, text := send(t, c, agent, test.encoding, test.body); status != 200 {
					t.Errorf("%s gets status %d: %s", agent, status, text)
				}
				if n := counted(t, c, test.what); n != 1 {
					t.Errorf("%s is %v, want 1", test.what, n)
				}
				if n := counted(t, c, "decisions"); n != test.decisions {
					t.Errorf("%v decisions count, want %v", n, test.decisions)
				}
			}
			c := newCollector(t, Options{})
			if status, text := send(t, c, "curl", test.encoding, test.body); status != test.status {
				t.Errorf("others get status %d, want %d: %s", status, test.status, text)
			}
		})
	}
}

// target is a server that gets bodies.
type target struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	last   *http.Request
	answer func(w http.ResponseWriter, body string)
}

func newTarget(t *testing.T) (*target, *Forward) {
	x := &target{answer: func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusNoContent) }}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		x.mu.Lock()
		if x.last = r; err == nil {
			x.bodies = append(x.bodies, string(text))
		}
		answer := x.answer
		x.mu.Unlock()
		answer(w, string(text))
	}))
	t.Cleanup(x.Close)
	f, err := NewForward(x.URL+"/base/", config.Config{}, DefaultTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return x, f
}

// respond sets the target's answer.
func (x *target) respond(answer func(w http.ResponseWriter, body string)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answer = answer
}

// got returns the bodies that the target has, and its last request.
func (x *target) got() (bodies []string, last *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bodies, x.last
}

// The target gets the same bytes, and OPA its answer. A body that the target
// does not answer does not count.
func TestForward(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	c := newCollector(t, Options{Forward: forward})
	body := packed(events("a", 10))
	if status, _ := send(t, c, opaAgent, "gzip", body); status != 200 {
		t.Errorf("204 of the target becomes %d, want 200", status)
	}
	bodies, r := x.got()
	if bodies[0] != body || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Authorization") != "Bearer secret" || r.UserAgent() != opaAgent || r.ContentLength != int64(len(body)) {
		t.Errorf("the target got %d bytes with %v", len(bodies[0]), r.Header)
	}
	x.respond(func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) })
	if got, _ := send(t, c, opaAgent, "gzip", packed(events("abort", 10))); got != 503 {
		t.Errorf("a closed connection becomes %d, want 503", got)
	}
	x.respond(func(w http.ResponseWriter, _ string) { http.Error(w, "busy", http.StatusInternalServerError) })
	if got, text := send(t, c, opaAgent, "gzip", packed(events("500", 10))); got != 500 || text != "busy\n" {
		t.Errorf("status 500 of the target becomes %d: %q", got, text)
	}
	if n := counted(t, c, "decisions"); n != 10 || counted(t, c, "refused") != 2 {
		t.Errorf("%v decisions count, want 10", n)
	}
}

// If the sender breaks off, the body does not count, and the target must not
// take it for whole.
func TestSenderBreaksOff(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	for _, forward := range []*Forward{forward, nil} {
		c := newCollector(t, Options{Forward: forward})
		server := httptest.NewServer(c)
		defer server.Close()
		for _, header := range []string{"Content-Length: 100000", "Transfer-Encoding: chunked"} {
			connection, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			text := events("a", 3)
			if strings.HasPrefix(header, "T") {
				text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
			}
			fmt.Fprintf(connection, "POST /logs HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", header, text)
			time.Sleep(50 * time.Millisecond)
			_ = connection.Close()
		}
		eventually(t, "both bodies are refused", func() bool { return counted(t, c, "refused") == 2 })
		bodies, _ := x.got()
		if n := counted(t, c, "decisions"); n != 0 || len(bodies) > 0 {
			t.Errorf("%v decisions count, and the target has %d bodies", n, len(bodies))
		}
	}
}

// A body that does not arrive in time may come from a slow sender, or be too
// much for this machine. OPA must send it again.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Options{})
	w := httptest.NewRecorder()
	late := iotest.ErrReader(fmt.Errorf("read: %w", os.ErrDeadlineExceeded))
	c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(events("a", 3)), late)))
	if n := testutil.ToFloat64(c.metrics.refused.WithLabelValues("slow")); w.Code != 503 || n != 1 || counted(t, c, "decisions") != 0 {
		t.Errorf("the answer is %d %s, and %v bodies are refused as slow", w.Code, w.Body, n)
	}
}

// Requests need the token. The target gets the credentials and headers of a
// service, and otherwise the sender's, but never the collector's token.
func TestToken(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	basic, _ := json.Marshal(map[string]any{"x": map[string]any{
		"url": x.URL, "headers": map[string]string{"X-Tenant": "a"}, "credentials": map[string]any{"bearer": map[string]string{"scheme": "Basic", "token": "other"}},
	}})
	service, err := NewForward("x", config.Config{Services: basic}, DefaultTimeout)
	if err != nil {
		t.Fatal(err)
	}
	secret := func() string { return "secret" }
	for i, test := range []struct {
		forward *Forward
		token   func() string
		want    []string
	}{{forward, nil, []string{"Bearer secret"}}, {forward, secret, nil}, {service, nil, []string{"Basic other"}}, {service, secret, []string{"Basic other"}}} {
		c := newCollector(t, Options{Forward: test.forward, Token: test.token})
		for _, body := range []string{events("a", 1), strings.Repeat(" ", maxWhole) + events("b", 1)} {
			if status, text := send(t, c, opaAgent, "", body); status != 200 {
				t.Errorf("with the right Authorization: %d %s", status, text)
			}
			if _, last := x.got(); !slices.Equal(last.Header["Authorization"], test.want) || (last.Header.Get("X-Tenant") == "a") != (test.forward == service) {
				t.Errorf("test %d: the target gets %v", i, last.Header)
			}
		}
	}
	c := newCollector(t, Options{Token: secret})
	for path, want := range map[string]int{"/metrics": 401, "/health": 200} {
		for _, header := range []string{"Bearer secre", "secret", ""} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", header)
			c.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s with %q: %d, want %d", path, header, w.Code, want)
			}
		}
	}
}

// A large body counts as many small ones with the same decisions do.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if _, err := samplelog.Write(&log, samplelog.Options{Decisions: 10_000}); err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for _, bodies := range []int{1, 100} {
		c := newCollector(t, Options{})
		lines := slices.Collect(strings.Lines(log.String()))
		for body := range slices.Chunk(lines, len(lines)/bodies) {
			if status, text := send(t, c, opaAgent, "", strings.Join(body, "")); status != 200 {
				t.Fatal(status, text)
			}
		}
		if n := counted(t, c, "decisions"); n != 10_000 {
			t.Errorf("in %d bodies, %v decisions count", bodies, n)
		}
		page := ""
		for line := range strings.Lines(scrape(c)) {
			if strings.HasPrefix(line, "opa_") {
				page += line
			}
		}
		pages[page] = true
	}
	if len(pages) != 1 {
		t.Error("the series differ")
	}
}

// Servers are told apart by their ids, up to a number and a length, while they
// send.
func TestServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCollector(t, Options{})
		upload := func(ids ...string) {
			t.Helper()
			var b strings.Builder
			for _, id := range ids {
				fmt.Fprintf(&b, `{"decision_id":"%v","labels":{"id":"%s"},"path":"p","metrics":{}}`+"\n", time.Now(), id)
			}
			if status, text := send(t, c, opaAgent, "", b.String()); status != 200 {
				t.Fatal(status, text)
			}
		}
		numbers := func(from, to int) (ids []string) {
			for i := from; i < to; i++ {
				ids = append(ids, fmt.Sprint(i))
			}
			return ids
		}
		for _, step := range []struct {
			ids  []string
			want float64
		}{
			{[]string{"a", "b", "a", "", strings.Repeat("x", maxID), strings.Repeat("x", maxID+1)}, 3},
			{[]string{"a"}, 3}, {[]string{"a"}, 1}, {nil, 1}, {nil, 0}, // with half of the time in between
			{numbers(0, maxServers+1), maxServers}, {append(numbers(maxServers, maxServers+10), "0", "1"), maxServers}, {nil, 2}, {nil, 0}, {[]string{"a"}, 1},
		} {
			upload(step.ids...)
			if n := c.metrics.active(); n != step.want {
				t.Errorf("%d ids: %v servers are active, want %v", len(step.ids), n, step.want)
			}
			time.Sleep(10*time.Minute + time.Second)
		}
	})
}

// deadlines is an answer that notes the deadline of reading.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newModel returns a collector whose target is a function. Its time is that of a
// bubble of synctest.
func newModel(t *testing.T, target func(*http.Request) int) *Collector {
	return newCollector(t, Options{Forward: forwardTo(func(r *http.Request) (*http.Response, error) {
		if status := target(r); status != 0 {
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		}
		return nil, cmp.Or(r.Context().Err(), errors.New("it is down"))
	})})
}

func forwardTo(f roundTripper) *Forward {
	return &Forward{url: &url.URL{Scheme: "http", Host: "x"}, client: &http.Client{Transport: f, CheckRedirect: keepMethod}, timeout: DefaultTimeout}
}

// deliver sends a body in a bubble, and returns the status of the answer.
func deliver(ctx context.Context, c *Collector, body string) int {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/logs", strings.NewReader(body))
	r.Header.Set("User-Agent", opaAgent)
	c.ServeHTTP(w, r)
	return w.Code
}

// Senders get as much to a slow target as without the collector: nothing is
// refused, and nothing comes twice. The same holds after an outage.
func TestThroughput(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		senders             int
		every, lasts, slow  time.Duration
		processors, without int
		outage              time.Duration
	}{
		{10, time.Second, 12 * time.Second, 300 * time.Millisecond, 1, 120, 0},
		{15, 2 * time.Second, 16 * time.Second, 1500 * time.Millisecond, 2, 120, 0},
		{60, 5 * time.Second, 20 * time.Second, 500 * time.Millisecond, 2, 240, 0},
		{200, 5 * time.Second, 20 * time.Second, 500 * time.Millisecond, 2, 800, 0},
		{200, 10 * time.Second, 20 * time.Second, 2 * time.Second, 2, 400, 0},
		{20, 5 * time.Second, 60 * time.Second, 100 * time.Millisecond, 2, 240, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			got, refused, begin := map[string]int{}, 0, time.Now()
			c := newModel(t, func(r *http.Request) int {
				text, _ := io.ReadAll(r.Body)
				if time.Since(begin) < test.outage {
					return 0
				}
				time.Sleep(test.slow)
				mu.Lock()
				defer mu.Unlock()
				got[string(text)]++
				return 200
			})
			c.places, c.streams = make(chan struct{}, test.processors), make(chan struct{}, test.processors)
			var senders sync.WaitGroup
			for sender := range test.senders {
				senders.Go(func() {
					for i := 0; time.Duration(i)*test.every < test.lasts; i++ {
						time.Sleep(time.Until(begin.Add(time.Duration(i) * test.every)))
						for deliver(t.Context(), c, events(fmt.Sprint(sender, "-", i), 20)) != 200 {
							mu.Lock()
							refused++
							mu.Unlock()
							time.Sleep(time.Second)
						}
					}
				})
			}
			senders.Wait()
			if took, most := time.Since(begin), test.lasts+test.slow; took > most {
				t.Errorf("%+v: all is there after %v, want %v", test, took, most)
			}
			for body, n := range got {
				if n > 1 {
					t.Fatalf("%+v: the target gets %d times %.60s", test, n, body)
				}
			}
			if len(got) != test.without || (refused > 0) != (test.outage > 0) || counted(t, c, "decisions") != float64(20*len(got)) {
				t.Errorf("%+v: the target gets %d bodies, %d are refused, and %v decisions count", test, len(got), refused, counted(t, c, "decisions"))
			}
		})
	}
}

// What waits is bounded. Beyond the bound, bodies are refused before anything
// goes to the target.
func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		c := newModel(t, func(r *http.Request) int { sent.Add(1); time.Sleep(5 * time.Second); return 200 })
		const size = 100_000
		fits := maxWaiting / (perBody + size + 1)
		var busy atomic.Int32
		for i := range fits + 10 {
			go func() {
				if deliver(t.Context(), c, fmt.Sprintf("%*d", size, i)) == 503 {
					busy.Add(1)
				}
			}()
		}
		synctest.Wait()
		if n := c.waiting.bytes.Load(); int(sent.Load()) != fits || busy.Load() != 10 || n > maxWaiting || n < maxWaiting*9/10 {
			t.Errorf("%d bodies of %d go to the target, %d are refused, and %d bytes wait", sent.Load(), fits, busy.Load(), n)
		}
		time.Sleep(6 * time.Second)
		if synctest.Wait(); c.waiting.bytes.Load() != 0 || deliver(t.Context(), c, "[]") != 200 {
			t.Errorf("%d bytes wait still", c.waiting.bytes.Load())
		}
		for _, body := range []string{events("a", 1), "x", strings.Repeat(" ", maxWhole+1), `{"labels":{}}`} {
			deliver(t.Context(), c, body)
		}
		gone, leave := context.WithCancel(t.Context())
		if leave(); deliver(gone, c, events("gone", 1)) != 400 {
			t.Error("a body whose sender has gone is sent")
		}
		if synctest.Wait(); c.waiting.bytes.Load() != 0 {
			t.Errorf("%d bytes are not given back", c.waiting.bytes.Load())
		}
	})
}

// An answer does not wait until a body is counted. Larger bodies do not take the
// places of others, and do not wait long for their own.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		c := newModel(t, func(r *http.Request) int {
			_, _ = io.Copy(io.Discard, r.Body)
			sent.Add(1)
			time.Sleep(5 * time.Second)
			return 200
		})
		c.places, c.streams = make(chan struct{}, 1), make(chan struct{}, 1)
		c.places <- struct{}{}
		begin := time.Now()
		large := strings.Repeat(" ", maxWhole)
		go deliver(t.Context(), c, large+events("large", 1))
		synctest.Wait()
		for i := range 10 {
			go deliver(t.Context(), c, large+events(fmt.Sprint("l", i), 1))
		}
		for i := range 3 {
			if status := deliver(t.Context(), c, events(fmt.Sprint("small", i), 1)); status != 200 || time.Since(begin) != time.Duration(i+1)*5*time.Second {
				t.Errorf("status %d after %v", status, time.Since(begin))
			}
		}
		if n := testutil.ToFloat64(c.metrics.refused.WithLabelValues("busy")); n != 10 || sent.Load() != 4 {
			t.Errorf("%v bodies are refused, and %d were sent", n, sent.Load())
		}
		if n := testutil.ToFloat64(c.metrics.counted); n != 1 {
			t.Errorf("%v bodies count while there is no place", n)
		}
		<-c.places
		if n := counted(t, c, "decisions"); n != 4 {
			t.Errorf("%v decisions count in the end, want 4", n)
		}

		for range cap(c.long) { // readers of long events need a place there too
			c.long <- struct{}{}
		}
		long := `[{"decision_id":"long","path":"p","result":true,"metrics":{},"input":"` + strings.Repeat("x", largeBuffer) + `"}]`
		go send(t, c, opaAgent, "gzip", packed(long))
		time.Sleep(time.Minute)
		if n := testutil.ToFloat64(c.metrics.counted); n != 4 {
			t.Errorf("%v bodies count, want 4: one with a long event needs no place", n)
		}
		<-c.long
		if n := counted(t, c, "decisions"); n != 5 || len(c.long) != cap(c.long)-1 {
			t.Errorf("%v decisions count, and %d places are taken", n, len(c.long))
		}
	})
}

// The target has the timeout from the moment when a body is sent, and all
// together stays below OPA's 10 seconds. A request ends when its sender has
// gone.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var active atomic.Int32
		c := newModel(t, func(r *http.Request) int {
			active.Add(1)
			defer active.Add(-1)
			<-r.Context().Done()
			return 0
		})
		for name, test := range map[string]struct {
			delay, want time.Duration
			large       bool
		}{
			"at once": {0, 8 * time.Second, false}, "after a second": {time.Second, 9 * time.Second, false},
			"slow": {7 * time.Second, 9500 * time.Millisecond, false}, "large": {0, 8 * time.Second, true},
		} {
			begin := time.Now()
			text := "[]"
			if test.large {
				text = strings.Repeat(" ", 2*maxWhole)
			}
			from, to := io.Pipe()
			go func() {
				_, _ = io.WriteString(to, text[:1])
				time.Sleep(test.delay)
				_, _ = io.WriteString(to, text[1:])
				_ = to.Close()
			}()
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", from))
			if took := time.Since(begin); w.Code != 503 || took != test.want || w.read != begin.Add(8*time.Second) {
				t.Errorf("%s: status %d after %v, and reading until %v", name, w.Code, took, w.read.Sub(begin))
			}
		}
		if n := testutil.ToFloat64(c.metrics.refused.WithLabelValues("target")); n != 4 {
			t.Errorf("the target refused %v bodies", n)
		}
		gone, leave := context.WithCancel(t.Context())
		go deliver(gone, c, "[]")
		synctest.Wait()
		if leave(); active.Load() != 1 {
			t.Error("a body is not sent")
		}
		if synctest.Wait(); active.Load() != 0 || testutil.ToFloat64(c.metrics.refused.WithLabelValues("sender")) != 1 {
			t.Error("the target is still waited for although the sender has gone")
		}
		c.timeout, c.options.Forward.timeout = 20*time.Second, 20*time.Second
		begin := time.Now()
		if status := deliver(t.Context(), c, "[]"); status != 503 || time.Since(begin) != 20*time.Second {
			t.Errorf("with another timeout: status %d after %v", status, time.Since(begin))
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
		forward := forwardTo(func(r *http.Request) (*http.Response, error) {
			_, _ = io.CopyN(io.Discard, r.Body, random.Int64N(400_000)) // it may know enough
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		})
		c := newCollector(t, Options{Forward: []*Forward{nil, forward}[seed%2], MaxEvent: 100_000, MaxBody: 3_000_000})
		want := map[string]float64{}
		servers, problems, known := map[string]bool{}, map[string]float64{}, []string{}
		for i := range 60 {
			id, problem := fmt.Sprint(random.IntN(9)), ""
			n := []int{0, 1, 2, 30, 5000}[random.IntN(5)]
			body := strings.ReplaceAll(events(fmt.Sprint("m", i), n), `"s1"`, `"`+id+`"`)
			unread := false
			switch random.IntN(12) {
			case 0:
				body, problem = body+"\n{\"decision_id\":\"x\",\"path\":\"p", "truncated"
				unread = n == 0
			case 1:
				body, problem, n = body+"\n"+`{"decision_id":"x","path":"p"}`, "no_metrics", n+1
			case 2:
				body, unread = body+"\n"+`{"decision_id":"`+strings.Repeat("x", 200_000)+`"}`, true
			case 3:
				body, unread = "x"+strings.Repeat(" ", random.IntN(9)), true
			case 4:
				body, unread = body+strings.Repeat(" ", 3_000_000), true
			}
			encoding := ""
			if random.IntN(2) == 0 && len(body) < 3_000_000 {
				if body, encoding = packed(body), "gzip"; random.IntN(5) == 0 {
					body, unread = body[:len(body)-1], true
				}
			}
			if status = 200; forward == c.options.Forward && random.IntN(4) == 0 {
				status = []int{400, 429, 503, 302}[random.IntN(4)]
			}
			if len(known) > 0 && random.IntN(6) == 0 {
				body, encoding = known[random.IntN(len(known))], ""
				if strings.HasPrefix(body, "\x1f") {
					encoding = "gzip"
				}
				unread, n, problem = false, 0, ""
			}
			if got, text := send(t, c, opaAgent, encoding, body); got != status {
				t.Fatalf("seed %d, body %d: status %d, want %d: %s", seed, i, got, status, text)
			}
			switch {
			case status != 200:
				want["refused"]++
			case unread && c.options.Forward != nil:
				want["uncounted"]++
			case unread:
				want["lost"]++
			case slices.Contains(known, body):
				want["repeated"]++
			default:
				want["counted"]++
				want["decisions"] += float64(n)
				known = append(known, body)
				if problem != "" {
					problems[problem]++
				}
				if n > 1 || n == 1 && problem == "" {
					servers[id] = true
				}
			}
			for _, what := range []string{"refused", "uncounted", "lost", "repeated", "counted", "decisions"} {
				if got := counted(t, c, what); got != want[what] {
					t.Fatalf("seed %d, body %d of %d bytes: %s is %v, want %v", seed, i, len(body), what, got, want[what])
				}
			}
			for _, problem := range []string{"truncated", "no_metrics", "too_long", "invalid_json"} {
				if got := testutil.ToFloat64(c.metrics.wrong.WithLabelValues(problem)); got != problems[problem] {
					t.Fatalf("seed %d, body %d: %v problems are %s, want %v", seed, i, got, problem, problems[problem])
				}
			}
			if n := c.metrics.active(); n != float64(len(servers)) {
				t.Fatalf("seed %d, body %d: %v servers, want %d", seed, i, n, len(servers))
			}
		}
	}
}

// Many metrics do not wait in a batch, and long ids are not remembered.
func TestHostileBody(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Options{})
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `{"decision_id":"%d","labels":{"id":"%s"},"path":"p","result":true,"metrics":{"counter_a":1`, i, strings.Repeat("x", maxID+1))
		for j := range 2000 {
			fmt.Fprintf(&b, `,"timer_t%d_%d_ns":1`, i, j)
		}
		b.WriteString("}}\n")
	}
	if status, text := send(t, c, opaAgent, "", b.String()); status != 200 {
		t.Fatal(status, text)
	}
	if n := counted(t, c, "decisions"); n != 100 || c.metrics.active() != 0 {
		t.Errorf("%v decisions count, of %v servers", n, c.metrics.active())
	}
}

// The target gets the path as it was sent. A path with dot segments goes
// nowhere.
func TestPaths(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	c := newCollector(t, Options{Forward: forward})
	at := func(base string) {
		forward.url.Path = base
		for path, want := range map[string]string{
			"/": "/", "/logs": "/logs", "//logs": "//logs", "/logs//x/": "/logs//x/", "/logs/a%2Fb": "/logs/a%2Fb", "/%6cogs": "/%6cogs",
			"/logs?x=%2e%2e/&y=1;z": "/logs?x=%2e%2e/&y=1;z", "/...": "/...", "/a..b/.c/d.": "/a..b/.c/d.", "/a;b=c": "/a;b=c", "/%25": "/%25",
			"/a|b%2F\"": "/a%7Cb%2F%22", "/\xc3\xa9": "/%C3%A9", "/\xff%7e": "/%FF%7e", "http://other/logs": "/logs",
		} {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("[]")))
			if _, r := x.got(); w.Code != 200 || r.RequestURI != strings.TrimSuffix(base, "/")+want {
				t.Errorf("%s behind %q: status %d %s, and the target gets %s", path, base, w.Code, w.Body, r.RequestURI)
			}
		}
	}
	at("")
	at("/tenant-a")
	at("/tenant-a/")
	before, _ := x.got()
	paths := 0.0
	for _, dots := range []string{".", "..", "%2e%2e", ".%2E", "%2e", "%252e.", "%25252e%252E"} {
		for _, end := range []string{"", "/x", "%2fx", "\\x", "%5Cx", "%252Fx", ";a/x", "%3bx", "%3F", "%23", "#", "%00"} {
			for _, begin := range []string{"/", "/a/", "/a%2F", "/a\\", "/a%5c", "/a%252f"} {
				w := httptest.NewRecorder()
				c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, begin+dots+end, strings.NewReader("[]")))
				if paths++; w.Code != http.StatusBadRequest {
					t.Errorf("%s gets %d", begin+dots+end, w.Code)
				}
			}
		}
	}
	if after, _ := x.got(); len(after) != len(before) || testutil.ToFloat64(c.metrics.refused.WithLabelValues("path")) != paths {
		t.Errorf("the target got %d of them", len(after)-len(before))
	}
	for request, want := range map[string]int{
		"POST /metrics": 405, "POST /health": 405, "PUT /logs": 404, "GET /logs": 404, "GET /": 404, "HEAD /health": 200, "GET /metrics": 200, "HEAD /metrics": 200,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(events("a", 1))))
		if w.Code != want || want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, %s", request, w.Code, w.Header())
		}
	}
	if n := counted(t, c, "decisions"); n != 0 {
		t.Errorf("%v decisions count", n)
	}
}

// Headers of a connection stay on it. Of the target's headers, OPA gets those
// that speak to it.
func TestHeaders(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	x.respond(func(w http.ResponseWriter, _ string) {
		for name, value := range map[string]string{"Retry-After": "7", "WWW-Authenticate": "Basic", "Content-Type": "text/odd", "Set-Cookie": "a=b", "Server": "x"} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, strings.Repeat("x", maxAnswer+1))
	})
	c := newCollector(t, Options{Forward: forward})
	r := httptest.NewRequest(http.MethodPost, "/logs", strings.NewReader("[]"))
	r.Header = http.Header{"Connection": {"x-hop, X-Other", "X-Third"}, "X-Hop": {"1"}, "X-Other": {"1"}, "X-Third": {"1"}, "X-Kept": {"1", "2"}, "Content-Type": {"application/json"}}
	for _, name := range strings.Fields("Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection Te Trailer Transfer-Encoding Upgrade Expect") {
		r.Header.Set(name, "1")
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	_, got := x.got()
	want := http.Header{"X-Kept": {"1", "2"}, "Content-Type": {"application/json"}, "Content-Length": {"2"}, "User-Agent": {"Go-http-client/1.1"}}
	if !reflect.DeepEqual(got.Header, want) || got.Host != forward.url.Host {
		t.Errorf("the target gets %v for %s", got.Header, got.Host)
	}
	answer := http.Header{"Retry-After": {"7"}, "WWW-Authenticate": {"Basic"}, "Content-Type": {"text/odd"}}
	if !reflect.DeepEqual(w.Header(), answer) || w.Code != http.StatusTooManyRequests || w.Body.Len() != maxAnswer {
		t.Errorf("OPA gets status %d, %v and %d bytes", w.Code, w.Header(), w.Body.Len())
	}
}

// Each limit is exact: what has one byte more does not count.
func TestLimits(t *testing.T) {
	t.Parallel()
	const limit = 300_000 // a reader's buffer must grow for it
	pad := func(blanks int, text string) string { return strings.Repeat(" ", blanks-len(text)) + text }
	long := func(size int) string {
		const event = `{"decision_id":"x","path":"p","result":true,"input":""}`
		return strings.Replace(event, `""`, `"`+strings.Repeat("x", size-len(event))+`"`, 1)
	}
	for name, test := range map[string]struct {
		options           Options
		encoding          string
		fits, too, reason string
	}{
		"body":     {options: Options{MaxBody: limit}, fits: pad(limit, events("a", 1)), too: pad(limit+1, events("a", 1)), reason: "too_large"},
		"unpacked": {options: Options{MaxBody: limit}, encoding: "gzip", fits: packed(pad(limit, events("a", 1))), too: packed(pad(limit+1, events("a", 1))), reason: "too_large"},
		"event":    {options: Options{MaxEvent: limit}, fits: "[" + long(limit-1) + "]", too: "[" + long(limit+1) + "," + events("b", 2)[1:], reason: "event_too_large"},
		"last":     {options: Options{MaxEvent: limit}, fits: long(limit - 1), too: events("b", 2) + "\n" + long(limit+1), reason: "event_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, forward := newTarget(t)
			for _, forward := range []*Forward{nil, forward} {
				test.options.Forward = forward
				c := newCollector(t, test.options)
				vector, others, want := c.metrics.lost, http.StatusRequestEntityTooLarge, 2.0
				if forward != nil {
					vector, others, want = c.metrics.uncounted, 200, 3
				}
				for range 2 { // what is too large leaves no trace
					if status, text := send(t, c, opaAgent, test.encoding, test.too); status != 200 {
						t.Errorf("OPA gets %d for what is too large: %s", status, text)
					}
				}
				if status, text := send(t, c, "curl", test.encoding, test.too); status != others {
					t.Errorf("others get %d for what is too large: %s", status, text)
				}
				if status, text := send(t, c, "curl", test.encoding, test.fits); status != 200 {
					t.Errorf("what fits gets %d: %s", status, text)
				}
				decisions := counted(t, c, "decisions")
				if n := testutil.ToFloat64(vector.WithLabelValues(test.reason)); n != want || decisions != 1 {
					t.Errorf("%v bodies have the reason %s, want %v; %v decisions count", n, test.reason, want, decisions)
				}
			}
			if bodies, _ := x.got(); len(bodies) != 4 || bodies[0] != test.too {
				t.Errorf("the target has %d bodies", len(bodies))
			}
		})
	}
}

// No text of a sender is a label, whether the body counts or not. Only the
// policy and the configuration give labels.
func TestLabels(t *testing.T) {
	t.Parallel()
	x, forward := newTarget(t)
	hostile := regexp.MustCompile(`"(x|y)([^"]*)"`).ReplaceAllString(`{"decision_id":"xd","labels":{"id":"xl","x":"xv","version":"x"},"bundles":{"xb":{"revision":"xr"}},"revision":"xr",
		"path":"PATH","query":"xq","requested_by":"xa","trace_id":"xt","span_id":"xs","type":"xt","rule_labels":[{"x":"xx"}],"result":RESULT,
		"error":{"code":"xc","message":"xm","x":"y"},"metrics":{"timer_xt_ns":1,"counter_xc":2,"histogram_xh":{"x":1},"timer_rego_query_eval_ns":3}}`+"\n", `"$1${2}evil"`)
	hostile += strings.NewReplacer(`"error"`, `"other"`, `"query"`, `"q"`).Replace(hostile)
	for config, want := range map[string]string{
		"": "(data) (query) other", `{"paths": {"allow": ["a/b"], "prefixes": ["users/*/role"]}}`: "(data) (query) a/b other users/*/role",
		`{"paths": false}`: "all",
	} {
		c := newCollector(t, Options{Config: []byte(config), Forward: forward})
		for i, status := range []int{401, 200} {
			x.respond(func(w http.ResponseWriter, _ string) { w.WriteHeader(status) })
			body := ""
			for j, path := range []string{"a/b", "(query)", "", "users/evil@example.com/role", "evil", "a/evil", "(evil)"} {
				body += strings.NewReplacer("PATH", path, "RESULT", []string{"true", `{"evil":"evil"}`, "null"}[j%3], "xd", fmt.Sprint(i)).Replace(hostile)
			}
			send(t, c, opaAgent, "", body)
		}
		page := scrape(c)
		if strings.Contains(page, "evil") || counted(t, c, "decisions") != 14 {
			t.Errorf("%s: %v decisions count, and the page is\n%s", config, counted(t, c, "decisions"), page)
		}
		paths := map[string]bool{}
		for _, m := range regexp.MustCompile(`path="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			paths[m[1]] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(paths)), " "); got != want {
			t.Errorf("%s: the paths are %q, want %q", config, got, want)
		}
	}
}

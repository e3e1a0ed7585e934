// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/rpc"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"github.com/open-policy-agent/opa/v1/config"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/internal/logread"
)

// A Live profile evaluates a sample of the decisions of a collector, in a process
// of its own, which calls [Serve].
type Live struct {
	*prometheus.CounterVec // decisions, by result
	command                []string
	share                  float64       // of one processor
	rest                   time.Duration // in which the process must do nothing after what it did last
	log                    *slog.Logger

	child   atomic.Pointer[rpc.Client] // nil if there is none
	mu      sync.Mutex
	offered []*decision        // of which each has had the same chance
	seen    int                // of how many
	end     context.CancelFunc // ends the process
}

// LiveVariable is the environment variable that the process of a live profile has.
const LiveVariable = "REGOMETER_LIVE"

// mostOffered limits the events that wait, and largest the bytes of each.
// batchSize limits those of a call, and longestWait the time until the process
// starts again.
const mostOffered, largest, batchSize, longestWait = 100, 128 << 10, 10, 5 * time.Minute

// NewLive returns a live profile. The command, if it has [LiveVariable], calls
// [Serve].
func NewLive(share float64, log *slog.Logger, command ...string) *Live {
	l := &Live{command: command, share: share, log: log, end: func() {}}
	l.CounterVec = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "regometer_collect_replayed_decisions_total", Help: "Decisions of the sample that were evaluated again, by how the result compares with the log's.",
	}, []string{"result"})
	return l
}

// Offer implements collect.Profiler.
func (l *Live) Offer(e *logread.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(e.Text) > largest {
		return
	}
	l.seen++
	if len(l.offered) < mostOffered {
		l.offered = append(l.offered, newDecision(e, 0, nil))
	} else if i := rand.IntN(l.seen); i < mostOffered {
		l.offered[i] = newDecision(e, 0, nil)
	}
}

// Renew implements collect.Profiler. Another process begins another profile.
func (l *Live) Renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// Run runs the process until ctx ends, and starts it again if it ends.
func (l *Live) Run(ctx context.Context) {
	for ctx.Err() == nil {
		renewed, end := context.WithCancel(ctx)
		l.mu.Lock()
		l.end = end
		l.mu.Unlock()
		l.rest = 0 // it may not even start
		if err := l.run(renewed); renewed.Err() == nil {
			wait := min(time.Second+l.rest, longestWait)
			l.log.Error("The process that profiles the policy has ended. It starts again later. Counting goes on.", "error", err, "wait", wait)
			sleep(renewed, wait)
		}
		end()
	}
}

// run runs the process once, until it ends or ctx does.
func (l *Live) run(ctx context.Context) (err error) {
	cmd := exec.CommandContext(ctx, l.command[0], l.command[1:]...)
	cmd.Env = append(os.Environ(), LiveVariable+"=1")
	cmd.Stderr = slog.NewLogLogger(l.log.Handler(), slog.LevelError).Writer()
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	child := rpc.NewClient(pipes{out, in})
	l.child.Store(child)
	defer func() {
		l.child.Store(nil)
		_ = child.Close()
		_ = cmd.Process.Kill()
		err = cmp.Or(cmd.Wait(), err)
	}()
	for ctx.Err() == nil {
		if err := l.evaluate(child, nil); err != nil { // which waits for the policy, and notices the end
			return err
		}
		l.mu.Lock()
		decisions, of := l.offered, float64(l.seen)/float64(len(l.offered))
		l.offered, l.seen = nil, 0
		l.mu.Unlock()
		for _, d := range decisions {
			d.Of = of
		}
		for some := range slices.Chunk(decisions, batchSize) {
			if err := l.evaluate(child, some); err != nil {
				return err
			}
			sleep(ctx, l.rest) // The process has one thread for Go, and works only during a call.
		}
		sleep(ctx, 100*time.Millisecond)
	}
	return ctx.Err()
}

// evaluate lets the process evaluate decisions, and counts the results.
func (l *Live) evaluate(child *rpc.Client, decisions []*decision) error {
	begin := time.Now()
	var results [len(verdictNames)]uint64
	err := child.Call("Live.Evaluate", decisions, &results)
	l.rest = time.Duration(float64(time.Since(begin)) * (1/l.share - 1))
	for v, n := range results {
		l.WithLabelValues(verdictNames[v]).Add(float64(n))
	}
	return err
}

// ServeHTTP serves the profile since the start, or that of the next seconds.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	span, err := time.ParseDuration(cmp.Or(r.FormValue("seconds"), "0") + "s")
	if err != nil || span < 0 || span > time.Hour {
		http.Error(w, "seconds must be a number from 0 to 3600", http.StatusBadRequest)
		return
	}
	var text []byte
	err = errors.New("it has ended")
	if child := l.child.Load(); child != nil {
		err = child.Call("Live.Profile", span, &text)
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("the process that profiles the policy does not answer: %v", err), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(text)
}

// pipes are the two directions of a connection.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// A server is the process of a live profile.
type server struct {
	ctx   context.Context
	ended chan error
	limit int64 // of the memory
	mu    sync.Mutex
	*worker
}

// Serve loads a policy and evaluates the decisions that a [Live] profile sends,
// until in ends, ctx ends or an evaluation needs too much memory.
func Serve(ctx context.Context, policies []string, opa config.Config, in io.Reader, out io.WriteCloser) error {
	runtime.GOMAXPROCS(1)
	yield()
	p, err := Load(ctx, policies, opa, false)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what loading has left
	debug.SetMemoryLimit(used() + softRoom)
	s := &server{ctx: ctx, ended: make(chan error, 1), limit: used() + 2*softRoom, worker: newWorker(p, nil, time.Second, nil)}
	rpcs := rpc.NewServer()
	_ = rpcs.RegisterName("Live", s) // it has methods
	context.AfterFunc(ctx, func() { s.ended <- nil })
	go func() {
		rpcs.ServeConn(pipes{in, out})
		s.ended <- nil
	}()
	return <-s.ended
}

// Evaluate evaluates decisions. It returns their number by result.
func (s *server) Evaluate(decisions []*decision, results *[len(verdictNames)]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	watched, stop := context.WithCancel(s.ctx)
	defer stop()
	go watchMemory(watched, s.limit, func() { s.ended <- fmt.Errorf("an evaluation needs more than %d MiB of memory", 2*softRoom>>20) })
	for _, d := range decisions {
		if f := s.find(s.ctx, d); s.ctx.Err() == nil {
			results[f.verdict]++
		}
	}
	return nil
}

// Profile returns the profile since the start, or that of the next time span,
// which pprof packs.
func (s *server) Profile(span time.Duration, text *[]byte) (err error) {
	p, begin := s.profile(), time.Now()
	if span > 0 {
		p.Scale(-1)
		sleep(s.ctx, span)
		if p, err = profile.Merge([]*profile.Profile{p, s.profile()}); err != nil {
			return err
		}
		p.TimeNanos, p.DurationNanos = begin.UnixNano(), int64(span)
	}
	var b bytes.Buffer
	err = p.Write(&b)
	*text = b.Bytes()
	return err
}

func (s *server) profile() *profile.Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (&Profile{tracers: []*tracer{s.tracer}}).pprof()
}

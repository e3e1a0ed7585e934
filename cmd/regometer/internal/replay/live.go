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
	"net/http"
	"net/rpc"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"github.com/open-policy-agent/opa/v1/util"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
	"github.com/regometer/regometer/internal/logread"
)

// A Live profile evaluates a sample of the decisions of a collector, in a process
// of its own, which calls [Serve].
type Live struct {
	*prometheus.CounterVec // decisions, by result
	command                []string
	share                  float64 // of one processor
	log                    *slog.Logger
	renew                  chan struct{}

	mu      sync.Mutex
	offered collect.Draw
	child   *rpc.Client // nil if there is none
}

// NewLive returns a live profile. The command calls [Serve].
func NewLive(share float64, log *slog.Logger, command ...string) *Live {
	l := &Live{command: command, share: share, log: log, renew: make(chan struct{}, 1)}
	l.CounterVec = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "regometer_collect_replayed_decisions_total", Help: "Decisions of the sample that were evaluated again, by how the result compares with the log's.",
	}, []string{"result"})
	for _, name := range verdictNames {
		l.WithLabelValues(name)
	}
	return l
}

// Offer implements collect.Profiler.
func (l *Live) Offer(d collect.Draw) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offered.Merge(d)
}

// Renew implements collect.Profiler. It begins another profile.
func (l *Live) Renew() {
	select {
	case l.renew <- struct{}{}:
	default:
	}
}

var errRenewed = errors.New("the policy has changed")

// Run runs the process until ctx ends, and starts it again if it ends.
func (l *Live) Run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		worked, err := l.run(ctx)
		if errors.Is(err, errRenewed) || ctx.Err() != nil {
			continue
		}
		if failures++; worked {
			failures = 1
		}
		wait := util.DefaultBackoff(float64(time.Second), float64(5*time.Minute), failures)
		l.log.Error("The process that profiles the policy has ended. It starts again later. Counting goes on.", "error", err, "wait", wait)
		select {
		case <-ctx.Done():
		case <-l.renew:
		case <-time.After(wait):
		}
	}
}

// run runs the process once. It reports whether it has evaluated decisions.
func (l *Live) run(ctx context.Context) (worked bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-l.renew: // the process will have the policy of now
	default:
	}
	cmd := exec.CommandContext(ctx, l.command[0], l.command[1:]...)
	cmd.Stderr = slog.NewLogLogger(l.log.Handler(), slog.LevelError).Writer()
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	child := rpc.NewClient(pipes{out, in})
	l.mu.Lock()
	l.child = child
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.child = nil
		l.mu.Unlock()
		_ = child.Close()
		defer time.AfterFunc(time.Second, cancel).Stop()
		if failure := cmd.Wait(); errors.Is(err, rpc.ErrShutdown) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = cmp.Or(failure, errors.New("it has ended"))
		}
	}()
	for loaded := false; ; loaded = true {
		begin := time.Now()
		var batch Batch // the first is empty, and waits for the policy
		if l.mu.Lock(); loaded {
			batch = Batch{Events: l.offered.Events(), Seen: l.offered.Seen}
			l.offered = collect.Draw{}
		}
		l.mu.Unlock()
		var results map[string]uint64
		call := child.Go("Live.Evaluate", batch, &results, make(chan *rpc.Call, 1))
		select {
		case <-ctx.Done():
			return worked, ctx.Err()
		case <-l.renew:
			return worked, errRenewed
		case <-call.Done:
		}
		if call.Error != nil {
			return worked, call.Error
		}
		worked = worked || len(batch.Events) > 0
		for name, n := range results {
			l.WithLabelValues(name).Add(float64(n))
		}
		// The process has one thread for Go, and works only during a call.
		wait := 100 * time.Millisecond
		if loaded {
			wait = max(wait, time.Duration(float64(time.Since(begin))*(1/l.share-1)))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// ServeHTTP serves the profile since the start, or that of the next seconds.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seconds := 0.0
	if text := r.FormValue("seconds"); text != "" {
		var err error
		if seconds, err = strconv.ParseFloat(text, 64); err != nil || !(seconds > 0 && seconds <= 3600) {
			http.Error(w, "seconds must be a number from 0 to 3600", http.StatusBadRequest)
			return
		}
	}
	l.mu.Lock()
	child := l.child
	l.mu.Unlock()
	p, err := profileBy(child)
	if span := time.Duration(seconds * 1e9); err == nil && span > 0 {
		begin := time.Now()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(span):
		}
		var now *profile.Profile
		if now, err = profileBy(child); err == nil {
			p.Scale(-1)
			p, err = profile.Merge([]*profile.Profile{p, now})
		}
		if err == nil {
			p.TimeNanos, p.DurationNanos = begin.UnixNano(), int64(span)
		}
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("the process that profiles the policy does not answer: %v", err), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="rego.pb.gz"`)
	_ = p.Write(w)
}

// profileBy asks a process for its profile.
func profileBy(child *rpc.Client) (*profile.Profile, error) {
	if child == nil {
		return nil, errors.New("it has ended")
	}
	var text []byte
	if err := child.Call("Live.Profile", struct{}{}, &text); err != nil {
		return nil, err
	}
	return profile.ParseData(text)
}

// pipes are the two directions of a connection.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// A Batch is events of a log, which stand for all that were seen.
type Batch struct {
	Events [][]byte
	Seen   int
}

// A server is the process of a live profile.
type server struct {
	ctx  context.Context
	mu   sync.Mutex
	base *worker
}

// Serve evaluates the decisions that a [Live] profile sends, until in ends, ctx
// ends or the process needs too much memory.
func Serve(ctx context.Context, p *Policy, in io.Reader, out io.WriteCloser) error {
	runtime.GOMAXPROCS(1)
	yield()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	debug.SetMemoryLimit(used() + softRoom)
	go watchMemory(ctx, used()+2*softRoom, cancel)
	rpcs, ended := rpc.NewServer(), make(chan struct{})
	if err := rpcs.RegisterName("Live", &server{ctx: ctx, base: newWorker(&Options{Policy: p, Timeout: time.Second})}); err != nil {
		return err
	}
	go func() {
		rpcs.ServeConn(pipes{in, out})
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errNoMemory) {
			return fmt.Errorf("an evaluation needs more than %d MiB of memory", 2*softRoom>>20)
		}
		return ctx.Err()
	}
}

// Evaluate evaluates a batch. It returns the number of decisions by result.
func (s *server) Evaluate(b Batch, results *map[string]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := *s.base // with the same tracer
	w.paths, w.logged, w.replayed, w.before = map[string]*Results{}, newDurations(), newDurations(), newDurations()
	reader := logread.NewReader(logread.Options{
		Metric:  func([]byte) int32 { return 0 },
		Problem: func(logread.Problem, int64) {}, // the collector counts them
		Event: func(e *logread.Event) {
			d := newDecision(e, 0, nil)
			d.of = float64(b.Seen) / float64(len(b.Events))
			w.replay(s.ctx, d)
		},
	})
	reader.Close(bytes.Join(b.Events, []byte("\n")))
	var all Results
	for _, r := range w.paths {
		all.add(r)
	}
	*results = map[string]uint64{verdictNames[equal]: all.Equal, verdictNames[changed]: all.Changed, verdictNames[apart]: all.Apart, verdictNames[notRepeatable]: all.NotRepeatable}
	return nil
}

// Profile returns the profile since the start.
func (s *server) Profile(_ struct{}, text *[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	err := (&Profile{tracers: []*tracer{s.base.tracer}}).WritePprof(&b)
	*text = b.Bytes()
	return err
}

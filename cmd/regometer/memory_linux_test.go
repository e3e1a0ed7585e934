// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
)

// collectNeeds returns the memory in MiB that the documentation states for
// uploads of the largest events.
func collectNeeds(processors int) int { return 128 + processors*10*(collect.DefaultEvent>>20) }

// residentMiB returns a line of the memory that a process has.
func residentMiB(process *os.Process, what string) int {
	status := read(fmt.Sprintf("/proc/%d/status", process.Pid))
	return must(strconv.Atoi(regexp.MustCompile(what + `:\s+(\d+) kB`).FindStringSubmatch(status)[1])) >> 10
}

// send uploads a text that write writes.
func (c *collecting) send(write func(w io.Writer)) {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	write(w)
	noError(w.Close())
	r := must(http.NewRequest(http.MethodPost, c.url+"/logs", &body))
	r.Header.Set("Content-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(r)
	noError(err, answer.Body.Close())
}

// The uploads of 200 servers wait for a slow target at the same time.
func TestCollectWaitingMemory(t *testing.T) {
	skipSlow(t, "makes 250,000 decisions")
	const uploads, events = 200, 1250
	var arrived atomic.Int64
	all := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		noError(err)
		if arrived.Add(1) == uploads {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done(): // on a busy machine, some come too late
		}
	}))
	defer target.Close()
	c := startCollect(t, "--forward", target.URL)
	var sent sync.WaitGroup
	c.metric(allowed)
	idle := residentMiB(c.Process, "VmRSS")
	for i := range uploads {
		sent.Go(func() {
			c.send(func(w io.Writer) {
				for range events {
					fmt.Fprintf(w, `{"labels":{"id":"s%d"},"decision_id":"%016x","path":"p","result":true,"metrics":{"timer_server_handler_ns":%d}}`+"\n", i, rand.Uint64(), rand.IntN(1e6))
				}
			})
		})
	}
	sent.Wait()
	for deadline := time.Now().Add(30 * time.Second); c.metric(allowed) != fmt.Sprint(uploads*events); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s decisions count", c.metric(allowed))
		}
	}
	if peak := residentMiB(c.Process, "VmHWM"); peak > idle+64 {
		t.Errorf("%d uploads that wait need %d MiB, and %d without them", uploads, peak, idle)
	}
}

// A collector with the documented limits needs no more for the most expensive
// events, and gives the memory back.
func TestCollectMemory(t *testing.T) {
	skipSlow(t, "unpacks events of 16 MiB")
	t.Setenv("GOMAXPROCS", "2")
	t.Setenv("GOMEMLIMIT", fmt.Sprint(collectNeeds(2), "000000"))
	const size = collect.DefaultEvent - 1000
	const event = `{"labels":{"id":"s"},"decision_id":"x","path":"a/b","result":true,"metrics":{"timer_server_handler_ns":1},`
	wrap := func(s string) string { return `{"log":` + strconv.Quote(s) + `}` }
	x := strings.Repeat("x", size)
	streams := ""
	for i := range 15 {
		streams += fmt.Sprintf(`{"log":"{\"decision_id\":\"%s","pod":"p%d"}`+"\n", x, i)
	}
	for name, text := range map[string]string{
		"a long input":    event + `"input":"` + x + `"}`,
		"many members":    event + strings.Repeat(`"a":"",`, size/7) + `"b":1}`,
		"a wrapped input": wrap(wrap(wrap(event + `"input":"` + x + `"}`))),
		"a wrapped path":  wrap(wrap(wrap(`{"decision_id":"x","result":true,"metrics":{},"path":"` + x + `"}`))),
		"many streams":    streams,
	} {
		c := startCollect(t)
		var uploads sync.WaitGroup
		for i := range 4 {
			uploads.Go(func() {
				c.send(func(w io.Writer) { fmt.Fprint(w, text, strings.Repeat("\n", i)) })
			})
		}
		uploads.Wait()
		peak, after := residentMiB(c.Process, "VmHWM")-residentMiB(c.Process, "RssFile"), residentMiB(c.Process, "VmRSS") // the kernel can take the pages of files back
		t.Logf("%s: %d MiB at most, and %d MiB afterwards", name, peak, after)
		if peak > collectNeeds(2) || after > 128 {
			t.Errorf("%s needs too much", name)
		}
	}
}

// A report needs no more than 256 MB, whatever is in the log.
func TestReportMemory(t *testing.T) {
	skipSlow(t, "writes and reads a gigabyte")
	// The kernel counts the peak of the process that starts the command as the
	// command's. So the test starts itself again, in a process without the
	// memory of the tests before.
	if os.Getenv("REGOMETER_MEMORY_TEST") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReportMemory$", "-test.v")
		cmd.Env = append(os.Environ(), "REGOMETER_MEMORY_TEST=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const most = 256 << 20
	kilobyte := strings.Repeat("x", 1<<10)
	// For the same reason, the test writes bit by bit.
	repeat := func(w *bufio.Writer, n int, s string) {
		for range n {
			w.WriteString(s)
		}
	}
	event := func(w *bufio.Writer, path string, input func()) {
		w.WriteString(`{"labels":{"id":"a"},"decision_id":"d","path":"` + path + `","input":`)
		input()
		w.WriteString(`,"result":true,"timestamp":"2026-01-02T03:04:05Z",` +
			`"metrics":{"counter_server_query_cache_hit":1,"timer_rego_external_resolve_ns":300,"timer_rego_input_parse_ns":9000,` +
			`"timer_rego_query_compile_ns":70000,"timer_rego_query_eval_ns":40000,"timer_server_handler_ns":130000}}` + "\n")
	}
	for name, c := range map[string]struct {
		write func(w *bufio.Writer)
		page  bool
	}{
		"a million paths": {write: func(w *bufio.Writer) {
			for i := range 1_000_000 {
				event(w, fmt.Sprintf("tenants/%d/allow", i), func() { w.WriteString("{}") })
			}
		}},
		"50,000 paths, a page": {write: func(w *bufio.Writer) {
			for i := range 500_000 {
				event(w, fmt.Sprintf("tenants/%d/allow", i%50_000), func() { w.WriteString("{}") })
			}
		}, page: true},
		"inputs of 60 MB": {write: func(w *bufio.Writer) {
			for range 5 {
				event(w, "p", func() {
					w.WriteByte('"')
					repeat(w, 60<<10, kilobyte)
					w.WriteByte('"')
				})
			}
		}},
		"a line of 300 MB": {write: func(w *bufio.Writer) {
			w.WriteString(`{"decision_id":"`)
			repeat(w, 300<<10, kilobyte)
			w.WriteByte('\n')
			event(w, "p", func() { w.WriteString("{}") })
		}},
		"nested 20,000,000 deep": {write: func(w *bufio.Writer) {
			event(w, "p", func() {
				repeat(w, 20_000_000, "[")
				repeat(w, 20_000_000, "]")
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			f := must(os.Create(log))
			w := bufio.NewWriter(f)
			c.write(w)
			noError(w.Flush(), f.Close())
			args := []string{"report", "--format", "json", "--allow-empty", "--parquet", log + ".parquet", log}
			if c.page {
				args = append(args, "--html", log+".html")
			}
			cmd := command(t, args...)
			out := must(os.Create(log + ".json"))
			defer out.Close()
			var errors bytes.Buffer
			cmd.Stdout, cmd.Stderr = out, &errors
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, &errors)
			}
			begin := make([]byte, len(`{"version":1`))
			if _, err := out.ReadAt(begin, 0); err != nil || string(begin) != `{"version":1` {
				t.Errorf("it begins with %q, %v", begin, err)
			}
			resident := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			t.Logf("%d MB", resident>>20)
			if resident > most {
				t.Errorf("%d MB resident", resident>>20)
			}
		})
	}
}

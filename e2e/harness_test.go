// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// need skips a test unless REGOMETER_E2E is set.
func need(t *testing.T) {
	t.Helper()
	if os.Getenv("REGOMETER_E2E") == "" {
		t.Skip("set REGOMETER_E2E=1 to run this test: it builds OPA and takes minutes")
	}
}

// endToEnd skips a test unless REGOMETER_E2E is set, and lets it run in
// parallel with others.
func endToEnd(t *testing.T) {
	t.Helper()
	need(t)
	t.Parallel()
}

// root is the path of the repository.
var root = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..")
}()

// read returns the text of a file in the repository.
func read(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

// A block is a fenced block of a document.
type block struct{ language, text string }

// blocks returns the blocks of a document in the folder docs. It fails the test
// if a block has no language.
func blocks(t *testing.T, document string) (found []block) {
	text := read(t, "docs/"+document)
	fence := regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")
	for _, match := range fence.FindAllStringSubmatch(text, -1) {
		found = append(found, block{match[1], match[2]})
	}
	require.Len(t, found, strings.Count(text, "\n```")/2, "blocks with a language in %s", document)
	return found
}

// run runs a program in a folder, with these variables added to the
// environment, and returns its standard output. It fails the test if the
// program fails.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	text, err := output(dir, env, name, args...)
	require.NoError(t, err)
	return text
}

func output(dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &stdout, &stderr, append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s%s", cmd, err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// cached returns a function that builds a program once, in a file of the user's
// cache. build gets the file's path.
func cached(name string, build func(file string) error) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		file := filepath.Join(cache, "regometer-e2e", name)
		return file, build(file)
	})
}

var regometerFile = cached("regometer", func(file string) error {
	_, err := output(root, []string{"GOWORK=", "GOFLAGS="}, "go", "build", "-o", file, "./cmd/regometer")
	return err
})

// regometer returns the path of the command.
func regometer(t *testing.T) string {
	path, err := regometerFile()
	require.NoError(t, err)
	return path
}

// regometerOPA returns the path of an opa that `regometer build` made, or the
// path in REGOMETER_E2E.
func regometerOPA(t *testing.T) string {
	if path := os.Getenv("REGOMETER_E2E"); path != "1" {
		return path
	}
	return strings.TrimSpace(run(t, root, nil, regometer(t), "build"))
}

// unmodifiedOPA returns the path of the same OPA without any part of Regometer.
func unmodifiedOPA(t *testing.T) string {
	return strings.TrimSpace(run(t, root, nil, regometer(t), "build", "--unmodified"))
}

// seriesOPA returns the path of the same OPA with the series for OPA alone.
func seriesOPA(t *testing.T) string {
	return strings.TrimSpace(run(t, root, nil, regometer(t), "build", "--upstream"))
}

// extAuthz returns the path of a program that answers Envoy, built by `regometer
// build`: e2e/extauthz, or opa-envoy-plugin if OPA_ENVOY_PLUGIN is the folder of
// its source. Call it before a test becomes parallel, because a compiler
// disturbs measurements.
func extAuthz(t *testing.T) string {
	folder, mainPackage := filepath.Join(root, "e2e", "extauthz"), "."
	if source := os.Getenv("OPA_ENVOY_PLUGIN"); source != "" {
		folder, mainPackage = source, "./cmd/opa-envoy-plugin"
	}
	binary := filepath.Join(t.TempDir(), "program")
	run(t, "", others, regometer(t), "build", "-C", folder, mainPackage, "-o", binary)
	require.Contains(t, run(t, "", nil, regometer(t), "version", binary), "drop-in: sha256:")
	return binary
}

// others is the environment of commands that build other code.
var others = []string{"GOWORK=off", "GOFLAGS="}

// promtool runs promtool of the Prometheus in go.mod.
func promtool(t *testing.T, args ...string) {
	file, err := promtoolFile()
	require.NoError(t, err)
	_, err = output("", nil, file, args...)
	assert.NoError(t, err)
}

// promtoolFile builds promtool with the modules of the tests, which most of its
// packages are compiled for already.
var promtoolFile = cached("promtool", func(file string) error {
	// The tag leaves out service discovery, which our files do not use.
	_, err := output(filepath.Join(root, "e2e"), others, "go", "build", "-tags", "remove_all_sd", "-o", file, "github.com/prometheus/prometheus/cmd/promtool")
	return err
})

// A process runs until the end of the test.
type process struct {
	Cmd    *exec.Cmd
	Exited chan struct{} // closed when the process has ended
	Log    string        // the file with the output of the process
}

// dieWithUs lets a process end with the tests, even if somebody kills them and
// they cannot clean up. Only Linux can.
var dieWithUs = func(*exec.Cmd) {}

// start starts a process. The end of the test kills it.
func start(t *testing.T, cmd *exec.Cmd) *process {
	p := &process{cmd, make(chan struct{}), filepath.Join(t.TempDir(), "output.log")}
	output, err := os.Create(p.Log)
	require.NoError(t, err)
	defer output.Close() // the process has its own handle
	cmd.Stdout, cmd.Stderr = output, output
	dieWithUs(cmd)
	require.NoError(t, cmd.Start())
	go func() {
		_ = cmd.Wait() // cmd.ProcessState has the result
		close(p.Exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd.Path, p.Words(t))
		}
	})
	return p
}

// Kill kills the process and waits for its end.
func (p *process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	<-p.Exited
}

// Ended reports whether the process has ended.
func (p *process) Ended() bool {
	select {
	case <-p.Exited:
		return true
	default:
		return false
	}
}

// Words returns the output of the process without decisions.
func (p *process) Words(t *testing.T) string {
	text, err := os.ReadFile(p.Log)
	require.NoError(t, err)
	var words strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"msg":"Decision Log"`) {
			words.WriteString(line)
		}
	}
	return words.String()
}

// freeAddress returns an address on which no process listens. Systems give out
// higher ports, so no other process gets this one before the caller listens.
func freeAddress(t *testing.T) string {
	var err error
	for range 100 {
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000))); err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	require.NoError(t, err)
	return ""
}

// client makes all requests.
var client = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	Timeout:   10 * time.Second,
}

// ask makes a request and returns the HTTP status and the body of the answer.
// accept is the value of the header Accept.
func ask(ctx context.Context, method, url, body, accept string) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Accept", accept)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// await returns once done reports true. It fails the test after a minute.
func await(t *testing.T, what string, done func() bool) {
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "not within a minute: %s", what)
	}
}

// bundle returns a bundle of files by path.
func bundle(t *testing.T, files map[string]string) []byte {
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for name, content := range files {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := io.WriteString(archive, content)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	return b.Bytes()
}

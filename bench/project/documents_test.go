// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/stages"
)

// The commands in these documents run in the repository's root, or in a folder
// of their own. e2e/documents_test.go tests the rest of operating.
const (
	operating  = "docs/operating.md"
	reporting  = "docs/report.md"
	containers = "docs/containers.md"
	collecting = "docs/collecting.md"
)

// executed are the documents whose commands run, from top to bottom, as if a
// person typed them in.
var executed = []string{"README.md", "CONTRIBUTING.md", "docs/embedding.md", operating, reporting, containers, collecting}

// A block is a fenced block of a document. A comment before it, such as
// <!-- run: server -->, says how it runs:
//
//	(none)   in the repository's root, or the document's folder
//	server   the same; it starts a server at another port, which runs until the
//	         next server starts or the document ends
//	client   the same; it asks this server
//	beside   the same; it starts a program that runs until the document ends
//	module   in a new module with the example of docs/embedding.md, as if the
//	         repository were released; the example must run, with a new OPA
type block struct {
	language, mode, text string
	line                 int
}

var fence = regexp.MustCompile("(?ms)^(?:<!-- run: ([a-z]+) -->\n)?```([a-z]+)\n(.*?)^```$")

func blocks(t *testing.T, document string) (found []block) {
	t.Helper()
	text := read(t, document)
	ends := fence.FindAllStringIndex(text, -1)
	for i, m := range fence.FindAllStringSubmatch(text, -1) {
		found = append(found, block{m[2], m[1], m[3], 1 + strings.Count(text[:ends[i][0]], "\n")})
	}
	if fences := strings.Count(text, "\n```"); fences != 2*len(found) {
		t.Errorf("%s: %d fences, but only %d blocks with a language", document, fences, len(found))
	}
	return found
}

// TestDocumentsName: the files that documents link to, and the tests that they
// name, exist.
func TestDocumentsName(t *testing.T) {
	tests := ""
	for _, text := range texts(t, "*_test.go") {
		tests += text
	}
	for document, text := range texts(t, "*.md", ":!bench") {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)[)#]`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(files, filepath.Dir(document), m[1])); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
		for _, m := range regexp.MustCompile("(?:`|-run )(Test\\w+)").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(tests, "\nfunc "+m[1]) {
				t.Errorf("%s names a missing test: %s", document, m[1])
			}
		}
	}
}

// runElsewhere matches the documented commands that are steps of .ci/run, and
// the one that TestDemo runs.
var runElsewhere = regexp.MustCompile(`^(make (test|bench-quick|e2e E2EFLAGS=-short)|regometer verify --quick|go run ./cmd/regometer demo)\n`)

// TestDocumentsCommands runs the commands in the documents, except those that
// run elsewhere.
func TestDocumentsCommands(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds and runs OPA: make test-slow runs it")
	}
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	release := checkedRelease(t)
	bin := filepath.Join(root, "bin")
	if _, err := os.Stat(bin); os.IsNotExist(err) {
		t.Cleanup(func() { os.RemoveAll(bin) })
	}
	gobin, opaTree := t.TempDir(), filepath.Join(t.TempDir(), "opa")
	env := []string{"GOBIN=" + gobin, "PATH=" + gobin + string(filepath.ListSeparator) + os.Getenv("PATH"), "REGOMETER_SLOW_TESTS="}
	opaSource := strings.TrimSpace(mustRun(t, "go", "list", "-C", "opa", "-m", "-f", "{{.Dir}}", opaPath))
	if err := os.CopyFS(opaTree, os.DirFS(opaSource)); err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	places := strings.NewReplacer("path/to/opa", opaTree, "../regometer", checkout)
	folders := map[string]string{operating: documentFolder(t, operating), collecting: documentFolder(t, collecting), reporting: t.TempDir(), containers: t.TempDir()}
	_, newest := supported(t)
	for _, document := range executed {
		dir := folders[document]
		if dir == "" {
			dir = root
		}
		server, stopServer, stopBeside := "", func() {}, func() {}
		for _, b := range blocks(t, document) {
			if b.language != "sh" {
				continue
			}
			script := "set -euo pipefail\n"
			for line := range strings.Lines(b.text) {
				if !runElsewhere.MatchString(line) {
					script += places.Replace(line)
				}
			}
			t.Run(fmt.Sprintf("%s:%d", document, b.line), func(t *testing.T) {
				begin := time.Now()
				switch b.mode {
				case "", "client":
					script = address.ReplaceAllLiteralString(script, server)
					_, err = measure.Run(t.Context(), io.Discard, dir, env, "bash", "-c", script)
				case "module":
					script = fmt.Sprintf("go mod init example.com/app\ncp '%s/opa/examples/embed/main.go' .\n%sgo run . >&2\ngo list -m -f '{{.Version}}' %s",
						checkout, script, opaPath)
					var opa string
					opa, err = measure.Run(t.Context(), io.Discard, t.TempDir(), slices.Concat(env, release.env, []string{"GOSUMDB=off"}), "bash", "-c", script)
					if err == nil && semver.Compare(strings.TrimSpace(opa), newest) < 0 {
						t.Errorf("the module has OPA %q", opa)
					}
				case "beside":
					stopBeside = start(t, dir, env, script)
				case "server":
					stopServer()
					server = freeAddress(t)
					script = regexp.MustCompile(` --addr `+address.String()).ReplaceAllString(strings.TrimSpace(script), "")
					stopServer = start(t, dir, env, script+" --addr "+server)
					await(t, "http://"+server+"/health?plugins")
				default:
					t.Fatalf("invalid mode %q", b.mode)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %.0f s", strings.TrimSpace(b.text), time.Since(begin).Seconds())
			})
		}
		stopServer()
		stopBeside()
	}
}

// documentFolder returns a temporary folder with the examples and the files
// that a document shows: the YAML blocks that begin with a name.
func documentFolder(t *testing.T, document string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks(t, document) {
		name := regexp.MustCompile(`^# (\S+\.yaml)\n`).FindStringSubmatch(b.text)
		if b.language != "yaml" || name == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name[1]), []byte(b.text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// address matches the address of a documented server, which is OPA's default.
var address = regexp.MustCompile(`(127\.0\.0\.1|localhost):8181`)

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start starts a script whose last command does not end by itself, and returns
// a function that ends it.
func start(t *testing.T, dir string, env []string, script string) (stop func()) {
	t.Helper()
	// With exec, signals reach the program and not the shell.
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(script, "\nregometer ", "\nexec regometer "))
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// await returns once a server answers, which first may have to build OPA.
func await(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get(url); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer", url)
		}
	}
}

// unlisted are the stages that the table leaves out, as it says.
var unlisted = regexp.MustCompile(`\*$|^(wasm_vm_eval|rego_load|compile_(extract|prep|translate))_`)

// TestStageTable: docs/operating.md ends with the stages that rollup knows.
func TestStageTable(t *testing.T) {
	var table bytes.Buffer
	table.WriteString("| stage | in | measures |\n|---|---|---|\n")
	for _, s := range stages.DefaultStages() {
		if unlisted.MatchString(s.Name) {
			continue
		}
		in := "nothing"
		if parents := strings.Fields(s.Parent); len(parents) > 0 {
			in = "`" + strings.Join(parents, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", s.Name, in, s.Help)
	}
	if !strings.HasSuffix(read(t, operating), table.String()) {
		t.Errorf("%s does not end with this table:\n%s", operating, &table)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/app/opaserver"
)

// The commands and programs in these are run, from top to bottom, as by a
// person who types them in.
var executed = []string{"README.md", "CONTRIBUTING.md", "docs/embedding.md", operating, reporting, containers}

// What these link to or name has to exist.
var documents = append(executed[:len(executed):len(executed)],
	"RELEASING.md", "SECURITY.md", "CHANGELOG.md", "docs/design.md", "docs/envoy.md", "docs/kubernetes.md", "docs/rgm.md", "docs/upstream.md", "dashboards/README.md")

// Its commands are run in a folder of their own, in which the files are that it
// shows. What else it holds is tested in e2e/documents_test.go.
const operating = "docs/operating.md"

// Their commands are run in folders of their own too.
const (
	reporting  = "docs/report.md"
	containers = "docs/containers.md"
)

// A block is a fenced block of a document. How it is tried out is said by a
// comment before it, such as <!-- run: server -->:
//
//	(none)   in the repository's root, or the document's folder
//	server   the same; it starts a server, which is stopped once it answers
//	client   the same; it needs the server of the block before it
//	module   in a new module, as if the repository were released
type block struct {
	language, mode, text string
	line                 int
}

var fence = regexp.MustCompile("(?ms)^(?:<!-- run: ([a-z]+) -->\n)?```([a-z]+)\n(.*?)^```$")

func blocks(t *testing.T, document string) (found []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range fence.FindAllSubmatchIndex(text, -1) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return string(text[at[2*i]:at[2*i+1]])
		}
		found = append(found, block{group(2), group(1), group(3), 1 + bytes.Count(text[:at[0]], []byte("\n"))})
	}
	if fences := bytes.Count(text, []byte("\n```")); fences != 2*len(found) {
		t.Errorf("%s: %d fences, but %d blocks with a language were found", document, fences, len(found))
	}
	return found
}

// TestDocumentsNameTargets: every `make target` in running text exists.
func TestDocumentsNameTargets(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile("`make ([a-z0-9-]+)").FindAllSubmatch(text, -1) {
			if !bytes.Contains(makefile, []byte("\n"+string(match[1])+":")) {
				t.Errorf("%s names make %s, which the Makefile lacks", document, match[1])
			}
		}
	}
}

// TestDocumentsNameTests: every test that a document tells to run exists.
func TestDocumentsNameTests(t *testing.T) {
	named := 0
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`go test \./(\S+) -run '?(\w+)`).FindAllSubmatch(text, -1) {
			named++
			folder, name := string(match[1]), string(match[2])
			if out, err := run(t.Context(), root, nil, "go", "test", "./"+folder, "-list", "^"+name+"$"); err != nil || !strings.HasPrefix(out, name+"\n") {
				t.Errorf("%s names %s in %s, which is not there: %v", document, name, folder, err)
			}
		}
	}
	if named == 0 {
		t.Error("no document names a test")
	}
}

// TestDocumentsNameTestFunctions: every `TestX` in running text exists.
func TestDocumentsNameTestFunctions(t *testing.T) {
	var functions []string
	for _, file := range repositoryFiles(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			functions = append(functions, string(match[1]))
		}
	}
	named := 0
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(text, -1) {
			named++
			if !slices.Contains(functions, string(match[1])) {
				t.Errorf("%s names %s, which is not there", document, match[1])
			}
		}
	}
	if named == 0 {
		t.Error("no document names a test")
	}
}

// TestDocumentsLink: every file and every heading that a document links to
// exists.
func TestDocumentsLink(t *testing.T) {
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(root, document))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`).FindAllSubmatch(text, -1) {
			file, heading := filepath.Join(filepath.Dir(document), string(match[1])), string(match[2])
			if len(match[1]) == 0 {
				file = document
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s: %v", document, match[1], err)
			} else if heading != "" && !slices.Contains(anchors(t, file), heading) {
				t.Errorf("%s links to %s in %s, which has no such heading", document, heading, file)
			}
		}
	}
}

// anchors returns what a link to a heading ends in, for all headings of a
// document.
func anchors(t *testing.T, document string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(text, -1) {
		heading := strings.ReplaceAll(strings.ToLower(string(match[1])), " ", "-")
		found = append(found, "#"+regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllLiteralString(heading, ""))
	}
	return found
}

// TestDocumentsGo runs the programs in the documents.
func TestDocumentsGo(t *testing.T) {
	for _, document := range executed {
		for _, b := range blocks(t, document) {
			if b.language != "go" {
				continue
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(b.text), 0o666); err != nil {
				t.Fatal(err)
			}
			// A module that may import all of the others and OPA.
			dir := filepath.Join(root, "examples", "embed")
			if out, err := run(t.Context(), dir, nil, "go", "run", file); err != nil {
				t.Errorf("%s:%d: %v", document, b.line, err)
			} else {
				t.Logf("%s:%d prints\n%s", document, b.line, out)
			}
		}
	}
}

// TestDocumentsCommands runs the commands in the documents.
func TestDocumentsCommands(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds and runs OPA: make test-slow runs it")
	}
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	release, err := NewRelease(t.Context(), root, "v0.0.1-check", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release.Close(); err != nil {
			t.Error(err)
		}
	})
	bin := filepath.Join(root, "bin")
	if _, err := os.Stat(bin); os.IsNotExist(err) {
		t.Cleanup(func() { os.RemoveAll(bin) })
	}
	gobin := t.TempDir()
	env := []string{
		"GOBIN=" + gobin,
		"PATH=" + gobin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"REGOMETER_SLOW_TESTS=", // or make test would run this test again
	}
	opaTree := copyOPA(t)
	module := t.TempDir()
	if _, err := run(t.Context(), module, []string{"GOWORK=off"}, "go", "mod", "init", "example.com/app"); err != nil {
		t.Fatal(err)
	}
	for _, document := range executed {
		dir := root
		switch document {
		case operating:
			dir = operatingFolder(t)
		case reporting, containers:
			dir = t.TempDir()
		}
		all := blocks(t, document)
		for i, b := range all {
			if b.language != "sh" || b.mode == "client" {
				continue
			}
			script := "set -euo pipefail\n" + strings.ReplaceAll(b.text, "path/to/opa", opaTree)
			t.Run(fmt.Sprintf("%s:%d", document, b.line), func(t *testing.T) {
				start := time.Now()
				switch b.mode {
				case "":
					if _, err := run(t.Context(), dir, env, "bash", "-c", script); err != nil {
						t.Fatal(err)
					}
				case "module":
					// What it installs must not take the place of what the
					// others use.
					env := append(append([]string{}, env...), release.Env()...)
					env = append(env, "GOSUMDB=off", "GOBIN="+t.TempDir())
					if _, err := run(t.Context(), module, env, "bash", "-c", script); err != nil {
						t.Fatal(err)
					}
				case "server":
					serve(t, dir, env, script, clients(all[i+1:]))
				default:
					t.Fatalf("there is no way %q to run a block", b.mode)
				}
				t.Logf("%s: %.0f s", strings.TrimSpace(b.text), time.Since(start).Seconds())
			})
		}
	}
}

// clients returns the scripts of mode client that come before all others.
func clients(following []block) (scripts []string) {
	for _, b := range following {
		if b.language != "sh" {
			continue
		}
		if b.mode != "client" {
			break
		}
		scripts = append(scripts, "set -euo pipefail\n"+b.text)
	}
	return scripts
}

// operatingFolder returns a temporary folder with the examples and the files
// that the document operating shows: the YAML blocks that begin with a name.
func operatingFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, b := range blocks(t, operating) {
		name := regexp.MustCompile(`^# (\S+\.yaml)\n`).FindStringSubmatch(b.text)
		if b.language != "yaml" || name == nil {
			continue
		}
		shown++
		if err := os.WriteFile(filepath.Join(dir, name[1]), []byte(b.text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if shown == 0 {
		t.Fatalf("%s shows no file", operating)
	}
	return dir
}

// copyOPA copies OPA's source to a temporary folder.
func copyOPA(t *testing.T) string {
	t.Helper()
	dir, err := run(t.Context(), filepath.Join(root, "examples", "embed"), nil, "go", "list", "-m", "-f", "{{.Dir}}", opaPath)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "opa")
	if err := os.CopyFS(target, os.DirFS(strings.TrimSpace(dir))); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(target, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o777))
	})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// address is that of a documented server, which is OPA's default if its command
// names none.
var address = regexp.MustCompile(`(127\.0\.0\.1|localhost):8181`)

// serve runs a script that starts a server, on a free port in place of its own.
// Once it answers, serve runs the clients and stops the server.
func serve(t *testing.T, dir string, env []string, script string, clients []string) {
	script = regexp.MustCompile(` --addr `+address.String()).ReplaceAllString(script, "")
	// exec: what stops the server is for it, not for the shell.
	script = regexp.MustCompile(`(?m)^regometer `).ReplaceAllString(strings.TrimSpace(script), "exec regometer ")
	server, err := opaserver.Start(t.Context(), opaserver.Options{
		Name: "documented server", Command: []string{"bash", "-c", script + ` "$@"`, "bash"},
		Dir: dir, Env: env, Log: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for _, client := range clients {
		client = address.ReplaceAllLiteralString(client, strings.TrimPrefix(server.URL, "http://"))
		if out, err := run(t.Context(), dir, env, "bash", "-c", client); err != nil {
			t.Error(err)
		} else {
			t.Logf("%s\nprints\n%s", client, out)
		}
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"archive/tar"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// bundleOf returns a bundle with files, each with a name and a text.
func bundleOf(files ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for f := range slices.Chunk(files, 2) {
		noError(w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o600, Size: int64(len(f[1]))}))
		must(io.WriteString(w, f[1]))
	}
	noError(w.Close())
	return packed(b.String())
}

const (
	v1 = "package a\nallow if { own.builtin(input.x) }"
	v0 = "package b\nallow { input.x == 1 }"
)

// packagesOf returns the packages of a policy.
func packagesOf(p *Policy) string {
	var names []string
	for _, s := range p.sources {
		for _, m := range s.modules {
			names = append(names, strings.TrimPrefix(m.Package.Path.String(), "data."))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// lay puts files, all of the same time, and links (with an arrow) into a folder.
func lay(dir string, files map[string]string) {
	for name, text := range files {
		name = filepath.Join(dir, name)
		noError(os.MkdirAll(filepath.Dir(name), 0o700))
		if target, ok := strings.CutPrefix(text, "->"); ok {
			_ = os.Remove(name)
			noError(os.Symlink(target, name))
		} else {
			write(name, text)
			noError(os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)))
		}
	}
}

func TestPolicyFiles(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 2*maxRules) // gzip makes it no smaller
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for name, test := range map[string]struct {
		files map[string]string
		path  string
		want  string            // the packages, or a part of the error
		then  map[string]string // files that change
		next  string            // the packages after it, or "" if there is an error
	}{
		"Rego v1":          {map[string]string{"p.rego": v1}, "p.rego", "a", map[string]string{"p.rego": v0}, "b"},
		"any name":         {map[string]string{"p.txt": v0}, "p.txt", "b", map[string]string{"p.txt": "package"}, "b"},
		"same size":        {map[string]string{"p.rego": "package a"}, "", "a", map[string]string{"p.rego": "package b"}, "b"},
		"both versions":    {map[string]string{"x/p.rego": v1, "q.rego": v0, "data.txt": "no"}, "", "a b", map[string]string{"y/z.rego": "package c"}, "a b c"},
		"bundle":           {map[string]string{"b.tar.gz": bundleOf("x/p.rego", v1, "data.json", "{}")}, "b.tar.gz", "a", map[string]string{"b.tar.gz": bundleOf("p.rego", v0)}, "b"},
		"much data":        {map[string]string{"b": bundleOf("data.bin", string(noise), "p.rego", v1)}, "b", "a", nil, "a"},
		"data":             {map[string]string{"b": bundleOf("data.json", "{}")}, "b", "there are no Rego files", nil, ""},
		"many files":       {map[string]string{"b": bundleOf(slices.Repeat([]string{"p.rego", "package p"}, maxRules/fileCost)...)}, "b", "4 MiB of rules", nil, ""},
		"much text":        {map[string]string{"b": bundleOf("p.rego", "package p\n#"+strings.Repeat(" ", maxRules))}, "b", "4 MiB of rules", nil, ""},
		"much text, plain": {map[string]string{"p": "package p\n#" + strings.Repeat(" ", maxRules)}, "p", "4 MiB of rules", nil, ""},
		"many texts":       {map[string]string{"b": bundleOf("p.rego", "package p\n#"+strings.Repeat(" ", maxRules/2), "q.rego", "package q\n#"+strings.Repeat(" ", maxRules/2))}, "b", "4 MiB of rules", nil, ""},
		"invalid":          {map[string]string{"p.rego": "package a\nallow if"}, "", "rego_parse_error", nil, ""},
		"conflict":         {map[string]string{"p.rego": "package a\nx := 1\nx(y) := 1"}, "", "rego_type_error", nil, ""},
		"empty folder":     {map[string]string{"p.txt": v1}, "", "there are no Rego files", nil, ""},
		"missing":          {nil, "missing", "--policy", nil, ""},
		"no file":          {map[string]string{"null": "->/dev/null"}, "null", "neither a file nor a folder", nil, ""},
		// Kubernetes replaces the link ..data.
		"ConfigMap": {map[string]string{"..1/p.rego": v1, "..2/p.rego": v0, "..data": "->..1", "p.rego": "->..data/p.rego"}, "", "a", map[string]string{"..data": "->..2"}, "b"},
		"ConfigMap with paths": {map[string]string{"..1/authz/a.rego": v1, "..2/authz/a.rego": v0, "..data": "->..1", "authz": "->..data/authz"}, "", "a",
			map[string]string{"..data": "->..2"}, "b"},
		"git-sync": {map[string]string{"w/1/sub/p.rego": v1, "w/2/sub/p.rego": v0, "current": "->w/1"}, "current", "a", map[string]string{"current": "->w/2"}, "b"},
		"links": {map[string]string{"p.rego": v1, "a.rego": "->p.rego", "a.txt": "->p.rego", "loop": "->.", "x/loop": "->..", "gone.rego": "->gone", "y": "->x", "x/y.rego": v0}, "", "a b",
			map[string]string{"p.rego": "package c"}, "b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lay(dir, test.files)
			p, err := NewPolicy(newCollector(Options{}), []string{filepath.Join(dir, test.path)}, must(ReadConfig("")))
			if fails := test.next == ""; fails || err != nil {
				if !fails || err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
				return
			}
			if got := packagesOf(p); got != test.want {
				t.Errorf("the packages are %q, want %q", got, test.want)
			}
			s := p.sources[0]
			if again, _, err := s.read(t.Context(), s.version); again != nil || err != nil {
				t.Errorf("without a change, the files are parsed again, or there is the error %v", err)
			}
			if info, err := os.Stat(filepath.Join(dir, test.path)); err == nil && info.IsDir() {
				lay(dir, map[string]string{filepath.Join(test.path, "data.json"): "{}"})
				if again, _, err := s.read(t.Context(), s.version); again == nil || err != nil {
					t.Errorf("with other data, the files are not read again, or there is the error %v", err)
				}
			}
			lay(dir, test.then)
			p.update(t.Context(), s)
			if got := packagesOf(p); got != test.next {
				t.Errorf("then the packages are %q, want %q", got, test.next)
			}
		})
	}
}

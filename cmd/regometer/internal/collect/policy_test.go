// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// bundleOf returns a bundle with these files.
func bundleOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed(b.String())
}

func TestLoadPolicy(t *testing.T) {
	t.Parallel()
	const v1, v0 = "package a\nallow if { own.builtin(input.x) }", "package b\nallow { input.x == 1 }"
	const wasm = "\x00asm\x01\x00\x00\x00"
	for name, test := range map[string]struct {
		file, text string
		want       string // a rule, or a part of the error
	}{
		"Rego v1":     {"p.rego", v1, "data.a.allow"},
		"Rego v0":     {"p.rego", v0, "data.b.allow"},
		"bundle":      {"b.tar.gz", bundleOf(t, map[string]string{"x/p.rego": v1, "data.json": "{}"}), "data.a.allow"},
		"v0 bundle":   {"b.tar.gz", bundleOf(t, map[string]string{"p.rego": v0}), "data.b.allow"},
		"signed":      {"b.tar.gz", bundleOf(t, map[string]string{"p.rego": v1, ".signatures.json": `{"signatures":["x.y.z"]}`}), "data.a.allow"},
		"delta":       {"b.tar.gz", bundleOf(t, map[string]string{"patch.json": `{"data":[{"op":"upsert","path":"/a","value":1}]}`}), "is a delta bundle"},
		"WebAssembly": {"b.tar.gz", bundleOf(t, map[string]string{"policy.wasm": wasm, ".manifest": `{"wasm":[{"entrypoint":"a/allow","module":"policy.wasm"}]}`}), "has only WebAssembly"},
		"invalid":     {"p.rego", "package a\nallow if", "rego_parse_error"},
		"no policy":   {"p.txt", "", "--policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, test.file)
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			compiler, err := LoadPolicy([]string{file})
			switch {
			case err != nil:
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want one with %q", err, test.want)
				}
			case len(compiler.GetRulesExact(ast.MustParseRef(test.want))) != 1:
				t.Errorf("there is no rule %s", test.want)
			}
			if strings.HasSuffix(file, ".rego") && err == nil {
				// As Kubernetes mounts a ConfigMap: the file is a link into a
				// hidden folder.
				version := filepath.Join(dir, "..2026_01_02_03_04_05.0123456789")
				if err := errors.Join(os.Mkdir(version, 0o700), os.Rename(file, filepath.Join(version, test.file)),
					os.Symlink(filepath.Base(version), filepath.Join(dir, "..data")), os.Symlink(filepath.Join("..data", test.file), file)); err != nil {
					t.Fatal(err)
				}
				compiler, err := LoadPolicy([]string{dir})
				if err != nil || len(compiler.GetRulesExact(ast.MustParseRef(test.want))) != 1 {
					t.Errorf("the folder: %v, want the rule %s once", err, test.want)
				}
			}
		})
	}
	if _, err := LoadPolicy([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "there are no Rego files") {
		t.Errorf("an empty folder: the error is %v", err)
	}
}

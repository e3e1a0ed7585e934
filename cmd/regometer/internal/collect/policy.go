// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// LoadPolicy reads the rules in Rego files, folders and bundles, in Rego v0 or
// v1. It does not check signatures, because the rules only name paths. It fails
// if a file is invalid, or if a bundle has no rules to read.
func LoadPolicy(paths []string) (*ast.Compiler, error) {
	modules := map[string]*ast.Module{}
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err == nil && entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), ".."):
				return fs.SkipDir // Kubernetes mounts the files of a ConfigMap there, and links to them
			case err != nil || entry.IsDir():
				return err
			case strings.HasSuffix(name, ".rego") || name == path:
				return loadFile(modules, name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
	}
	if len(modules) == 0 {
		return nil, fmt.Errorf("--policy: there are no Rego files in %s", strings.Join(paths, ", "))
	}
	compiler := ast.NewCompiler().WithAllowUndefinedFunctionCalls(true) // built-ins of other programs
	if compiler.Compile(modules); compiler.Failed() {
		return nil, fmt.Errorf("--policy: %w", compiler.Errors)
	}
	return compiler, nil
}

// loadFile adds the modules of a Rego file, or of a bundle.
func loadFile(modules map[string]*ast.Module, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		module, err := parse(name, string(text))
		modules[name] = module
		return err
	}
	return eitherVersion(func(version ast.RegoVersion) error {
		b, err := bundle.NewReader(bytes.NewReader(text)).WithSkipBundleVerification(true).WithRegoVersion(version).Read()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case b.Type() == bundle.DeltaBundleType:
			return fmt.Errorf("%s is a delta bundle, which has no rules: name a snapshot bundle", name)
		case len(b.Modules) == 0 && len(b.WasmModules) > 0:
			return fmt.Errorf("%s has only WebAssembly, and no rules: name the paths in paths.allow of --config", name)
		}
		for _, m := range b.Modules {
			modules[name+m.Path] = m.Parsed
		}
		return nil
	})
}

func parse(name, text string) (module *ast.Module, err error) {
	err = eitherVersion(func(version ast.RegoVersion) error {
		module, err = ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: version, ProcessAnnotation: true})
		return err
	})
	return module, err
}

// eitherVersion calls read for Rego v1 and, if this fails, for v0. If both
// fail, it returns the first error.
func eitherVersion(read func(ast.RegoVersion) error) error {
	first := read(ast.RegoV1)
	if first == nil || read(ast.RegoV0) == nil {
		return nil
	}
	return first
}

// Version describes the state of the files at paths. It changes when a file
// does.
func Version(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, _ fs.DirEntry, failed error) error {
			info, err := os.Stat(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || failed != nil:
				return errors.Join(err, failed)
			}
			fmt.Fprintln(&b, name, info.Size(), info.ModTime().UnixNano(), info.Mode())
			return nil
		})
		fmt.Fprintln(&b, path, err)
	}
	return b.String()
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../.."
	examples = "examples/kubernetes" // below root
)

// kustomizations returns the folders below root that have one.
func kustomizations(t *testing.T) (folders []string) {
	t.Helper()
	for _, dir := range []string{"dashboards", examples} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ os.DirEntry, err error) error {
			if filepath.Base(path) == "kustomization.yaml" {
				folder, relErr := filepath.Rel(root, filepath.Dir(path))
				folders, err = append(folders, filepath.ToSlash(folder)), errors.Join(err, relErr)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(folders) < 6 {
		t.Fatalf("only %v found", folders)
	}
	return folders
}

// decoder reads objects by the types of the real APIs. A field that they do not
// have is an error.
var decoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, apps.AddToScheme, policy.AddToScheme, monitoring.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}()

// render returns the objects of the kustomization in a folder, as kubectl does.
func render(folder string) ([]runtime.Object, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.GetKind(), r.GetName(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// mustRender renders a kustomization below root.
func mustRender(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	objects, err := render(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// of returns the objects of one type.
func of[T runtime.Object](objects []runtime.Object) (found []T) {
	for _, object := range objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// workspace returns a temporary folder with copies of what is rendered, for
// kustomizations of others that stand on it.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"dashboards", examples} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// write writes a file below dir, and the folders that it is in.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// TestRender: each kustomization is rendered, and nothing is wrong with it.
func TestRender(t *testing.T) {
	for _, folder := range kustomizations(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			objects := mustRender(t, folder)
			if len(objects) == 0 {
				t.Error("it is empty")
			}
			for _, problem := range problems(objects) {
				t.Error(problem)
			}
		})
	}
}

// TestNothingTwice: no file has a key twice. What is rendered would have the
// last of them.
func TestNothingTwice(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS(filepath.Join(root, examples)), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		files++
		text, err := os.ReadFile(filepath.Join(root, examples, path))
		if err != nil {
			return err
		}
		var content map[string]any
		if err := yaml.UnmarshalStrict(text, &content); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d files found", files)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/regometer/regometer/e2e/harness"
)

const examples = "examples/kubernetes" // in the repository

// decoder reads objects by the types of the real APIs. A field that they do not
// have is an error.
var decoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, apps.AddToScheme, policy.AddToScheme, networking.AddToScheme, monitoring.AddToScheme} {
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

// mustRender renders the kustomization in a folder of dir.
func mustRender(t *testing.T, dir, folder string) []runtime.Object {
	objects, err := render(filepath.Join(dir, folder))
	require.NoError(t, err, folder)
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

// workspace returns a temporary folder with copies of the kustomizations, for
// others that refer to them.
func workspace(t *testing.T) string {
	dir := t.TempDir()
	for _, folder := range []string{"dashboards", examples} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(harness.Root, folder))))
	}
	return dir
}

// write writes a file, and the folders that contain it.
func write(t *testing.T, dir, name, text string) {
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}

// TestFiles: each kustomization is rendered without problems. No file has a key
// twice: kustomize would take the last one.
func TestFiles(t *testing.T) {
	kustomizations := 0
	for _, pattern := range []string{"dashboards", examples, examples + "/*"} {
		files, err := filepath.Glob(filepath.Join(harness.Root, pattern, "*.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var content map[string]any
			assert.NoError(t, yaml.UnmarshalStrict(text, &content), file)
			if filepath.Base(file) == "kustomization.yaml" {
				kustomizations++
				objects := mustRender(t, filepath.Dir(file), "")
				assert.NotEmpty(t, objects, file)
				assert.Empty(t, problems(objects), file)
			}
		}
	}
	assert.GreaterOrEqual(t, kustomizations, 6)
}

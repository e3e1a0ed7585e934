// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The folders of the repository with kustomizations of their own.
const (
	examples  = "examples/kubernetes"
	collector = examples + "/collector"
	sidecar   = examples + "/sidecar"
)

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

// decode returns the objects of a text with documents of YAML.
func decode(t *testing.T, name, text string) (objects []runtime.Object) {
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err, name)
		if len(bytes.TrimSpace(document)) == 0 {
			continue // a part that the chart's values switch off
		}
		object, _, err := decoder.Decode(document, nil, nil)
		require.NoError(t, err, "%s:\n%s", name, document)
		objects = append(objects, object)
	}
}

// render returns the objects of the kustomization in a folder of dir, as
// kubectl does.
func render(t *testing.T, dir, folder string) []runtime.Object {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, folder))
	require.NoError(t, err, folder)
	text, err := resources.AsYaml()
	require.NoError(t, err, folder)
	objects := decode(t, folder, string(text))
	require.Len(t, objects, resources.Size(), folder)
	return objects
}

// write writes a file, and the folders that contain it.
func write(t *testing.T, dir, name, text string) {
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}

// documented returns a folder with copies of the kustomizations, and with the
// files in docs/kubernetes.md, which are the blocks that begin with a name. It
// also returns the folders of the document's kustomizations.
func documented(t *testing.T) (dir string, folders []string) {
	dir = t.TempDir()
	for _, folder := range []string{"dashboards", examples} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))))
	}
	for _, b := range blocks(t, "kubernetes.md") {
		name := regexp.MustCompile(`^# (\S+/\S+)\n`).FindStringSubmatch(b.text)
		if name == nil {
			continue
		}
		write(t, dir, name[1], b.text)
		if folder, ok := strings.CutSuffix(name[1], "/kustomization.yaml"); ok {
			folders = append(folders, folder)
		}
	}
	require.GreaterOrEqual(t, len(folders), 3, "kustomizations in docs/kubernetes.md")
	return dir, folders
}

// TestKustomizations: kustomize renders each folder, also those in the document,
// and the APIs' types have all fields.
func TestKustomizations(t *testing.T) {
	dir, folders := documented(t)
	for _, folder := range append(folders, "dashboards", examples, examples+"/annotations", collector, sidecar) {
		assert.NotEmpty(t, render(t, dir, folder), folder)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// controllerGen makes the definitions of the Prometheus operator's types.
const controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"

// buildCluster returns a folder with kube-apiserver, kubectl, etcd's server and
// the definitions of the Prometheus operator's types, in the versions of the
// types in go.mod. It keeps the folder in the user's cache.
func buildCluster(t *testing.T) string {
	module := func(field, name string) string {
		return strings.TrimSpace(run(t, filepath.Join(root, "e2e"), []string{"GOWORK=off", "GOFLAGS="}, "go", "list", "-m", "-f", "{{."+field+"}}", name))
	}
	const monitoringTypes = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	version := module("Version", "k8s.io/api")
	dir := filepath.Join(cache, "regometer-e2e", "kubernetes-"+version+"-"+module("Version", monitoringTypes))
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err == nil {
		return done
	}
	t.Logf("building kube-apiserver in %s: a quarter of an hour or more", dir)
	// The go.mod of Kubernetes replaces modules by folders, which its module
	// lacks.
	release := "k8s.io/kubernetes@" + strings.Replace(version, "v0.", "v1.", 1)
	requirements, err := os.ReadFile(module("GoMod", release))
	require.NoError(t, err)
	text := regexp.MustCompile(`=> \./staging/src/(\S+)`).ReplaceAllString(string(requirements), "=> $1 "+version)
	text = strings.Replace(text, "module k8s.io/kubernetes", "module cluster", 1)
	write(t, dir, "go.mod", text+"\nrequire "+strings.Replace(release, "@", " ", 1)+"\n")
	part := filepath.Join(dir, "part") + string(filepath.Separator)
	for _, build := range []*exec.Cmd{
		exec.Command("go", "build", "-v", "-mod=mod", "-o", part, "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl", "go.etcd.io/etcd/server/v3"),
		exec.Command("go", "run", controllerGen, "crd", "paths=./v1", "output:crd:dir="+part),
	} {
		if build.Dir = dir; build.Args[1] == "run" {
			build.Dir = module("Dir", monitoringTypes)
		}
		build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr // progress
		require.NoError(t, build.Run(), build)
	}
	require.NoError(t, os.Rename(part, done))
	return done
}

// startCluster runs kube-apiserver and etcd, and returns a function that runs
// kubectl. No controller and no node is there.
func startCluster(t *testing.T, programs string) (kubectl func(args ...string) (string, error)) {
	dir, token := t.TempDir(), rand.Text()
	etcd, server := "http://"+freeAddress(t), freeAddress(t)
	_, port, err := net.SplitHostPort(server)
	require.NoError(t, err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	keyFile, tokenFile := filepath.Join(dir, "key.pem"), filepath.Join(dir, "tokens.csv")
	write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	write(t, dir, "tokens.csv", token+",admin,admin,system:masters\n")
	start(t, exec.Command(filepath.Join(programs, "server"), "--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd, "--listen-peer-urls=http://"+freeAddress(t)))
	start(t, exec.Command(filepath.Join(programs, "kube-apiserver"), "--etcd-servers="+etcd,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+dir, "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC", "--token-auth-file="+tokenFile,
		"--service-account-issuer=https://localhost", "--service-account-key-file="+keyFile, "--service-account-signing-key-file="+keyFile))
	kubectl = func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(programs, "kubectl"), append(args,
			"--server=https://"+server, "--token="+token, "--insecure-skip-tls-verify", "--cache-dir="+dir)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	await(t, "kube-apiserver is ready", func() bool {
		_, err := kubectl("get", "--raw=/readyz")
		return err == nil
	})
	return kubectl
}

// TestAPIServer: a kube-apiserver takes the example, the documented overlays
// and the chart, with and without the Prometheus operator's types. It validates
// strictly and has no warnings, and refuses faults.
func TestAPIServer(t *testing.T) {
	if os.Getenv("REGOMETER_APISERVER") == "" {
		t.Skip("set REGOMETER_APISERVER=1 to run this test: its first run builds kube-apiserver, which takes a quarter of an hour")
	}
	programs := buildCluster(t)
	kubectl := startCluster(t, programs)
	must := func(args ...string) string {
		output, err := kubectl(args...)
		require.NoError(t, err, "%v: %s", args, output)
		return output
	}
	apply := func(args ...string) string {
		output, err := kubectl(append([]string{"apply", "--validate=strict", "--warnings-as-errors"}, args...)...)
		if err == nil {
			return "accepted"
		}
		return output
	}
	applyChart := func(namespace string, c *chart.Chart, values string) {
		must("create", "namespace", namespace)
		must("label", "namespace", namespace, "pod-security.kubernetes.io/warn=restricted")
		files, err := renderChart(c, values, strings.Fields(must("api-versions"))...)
		require.NoError(t, err)
		dir := t.TempDir()
		for name, text := range files {
			write(t, dir, name, text)
		}
		assert.Equal(t, "accepted", apply("--namespace", namespace, "--recursive", "--filename", dir), "%s: %s", namespace, values)
	}
	dir, folders := documented(t)

	assert.Contains(t, apply("--kustomize", filepath.Join(dir, examples)), `no matches for kind "PodMonitor"`)
	applyChart("without-operator", packaged(t), "")
	for _, name := range []string{"podmonitors", "prometheusrules"} {
		must("create", "--filename", filepath.Join(programs, operatorGroup+"_"+name+".yaml"))
		must("wait", "--for=condition=Established", "crd/"+name+"."+operatorGroup)
	}
	must("create", "namespace", "app")
	for _, folder := range append(folders, examples, examples+"/annotations", collector, sidecar) {
		assert.Equal(t, "accepted", apply("--kustomize", filepath.Join(dir, folder)), folder)
	}
	for name, values := range chartValues(t) {
		applyChart(name, packaged(t), values)
	}
	applyChart("application", withSidecar(t), sidecarValues)

	for _, fault := range []struct{ kind, path, value, want string }{
		{"Deployment", "/spec/template/spec/containers/0/argz", "[]", `unknown field "spec.template.spec.containers[0].argz"`},
		{"Deployment", "/spec/template/spec/containers/0/securityContext/allowPrivilegeEscalation", "true", "would violate PodSecurity"},
		{"Service", "/spec/ports/0/port", "0", "must be between 1 and 65535"},
		{"PodMonitor", "/spec/nativeHistogram", "true", `unknown field "spec.nativeHistogram"`},
		{"PrometheusRule", "/spec/groups/0/interval", "soon", "spec.groups[0].interval"},
	} {
		write(t, dir, "broken/kustomization.yaml", fmt.Sprintf(
			"resources: [../%s]\npatches: [{target: {kind: %s}, patch: '- {op: add, path: %s, value: %s}'}]", examples, fault.kind, fault.path, fault.value))
		assert.Contains(t, apply("--kustomize", filepath.Join(dir, "broken")), fault.want, fault.path)
	}
}

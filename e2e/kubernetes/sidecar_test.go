// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	authconfig "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3" // a type in envoy.yaml
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3" // a type in envoy.yaml
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// authAddress is where Envoy asks OPA.
const authAddress = "127.0.0.1:9191"

// sidecar returns the objects of the sidecar's example, and its pod.
func sidecar(t *testing.T) ([]runtime.Object, *core.PodTemplateSpec) {
	t.Helper()
	objects := mustRender(t, examples+"/sidecar")
	return objects, &of[*apps.Deployment](objects)[0].Spec.Template
}

// TestEnvoy: Envoy's own types take its configuration, which sends requests to
// the application if OPA allows them, by the addresses that the pod has.
func TestEnvoy(t *testing.T) {
	objects, pod := sidecar(t)
	var text string
	for _, c := range of[*core.ConfigMap](objects) {
		text += c.Data["envoy.yaml"]
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var config bootstrap.Bootstrap
	if err := protojson.Unmarshal(asJSON, &config); err != nil {
		t.Fatal(err)
	}
	if err := config.ValidateAll(); err != nil {
		t.Error(err)
	}

	listener := config.GetStaticResources().GetListeners()[0]
	port, ok := portOf(pod, of[*core.Service](objects)[0].Spec.Ports[0].TargetPort)
	if address := listener.GetAddress().GetSocketAddress(); !ok || address.GetAddress() != "0.0.0.0" || address.GetPortValue() != uint32(port) {
		t.Errorf("Envoy listens on %v, the Service sends to port %d", address, port)
	}
	var manager hcm.HttpConnectionManager
	if err := listener.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(&manager); err != nil {
		t.Fatal(err)
	}
	var authorization authconfig.ExtAuthz
	if err := manager.GetHttpFilters()[0].GetTypedConfig().UnmarshalTo(&authorization); err != nil {
		t.Fatal(err)
	}
	if authorization.GetFailureModeAllow() {
		t.Error("Envoy lets requests pass if OPA does not answer")
	}
	clusters := map[string]string{} // addresses by name
	for _, c := range config.GetStaticResources().GetClusters() {
		clusters[c.GetName()] = addressOf(c)
	}
	if name := authorization.GetGrpcService().GetEnvoyGrpc().GetClusterName(); clusters[name] != authAddress {
		t.Errorf("Envoy asks %s at %q, want %s", name, clusters[name], authAddress)
	}
	if name := manager.GetRouteConfig().GetVirtualHosts()[0].GetRoutes()[0].GetRoute().GetCluster(); clusters[name] != "127.0.0.1:8080" {
		t.Errorf("the route to %s ends at %q", name, clusters[name])
	}
}

// addressOf returns that of a cluster's first endpoint.
func addressOf(c *cluster.Cluster) string {
	address := c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
	return fmt.Sprintf("%s:%d", address.GetAddress(), address.GetPortValue())
}

// TestSidecar runs OPA as Envoy's sidecar, and asks it as Envoy does.
func TestSidecar(t *testing.T) {
	needE2E(t)
	binary := envoyBinary(t) // before others wait for servers beside it
	t.Parallel()
	objects, pod := sidecar(t)
	c := start(t, binary, objects, "", pod, "opa", []string{"127.0.0.1:8181", ":8282", authAddress}, asItIs)
	c.await(t, c.spec.StartupProbe, http.StatusOK)
	c.await(t, c.spec.ReadinessProbe, http.StatusOK)
	c.await(t, c.spec.LivenessProbe, http.StatusOK)

	connection, err := grpc.NewClient(c.addresses[authAddress], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	const ok, permissionDenied = 0, 7
	for method, want := range map[string]int32{http.MethodGet: ok, http.MethodPost: permissionDenied} {
		answer, err := auth.NewAuthorizationClient(connection).Check(t.Context(), &auth.CheckRequest{Attributes: &auth.AttributeContext{
			Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{Method: method, Path: "/"}},
		}})
		if err != nil || answer.GetStatus().GetCode() != want {
			t.Errorf("%s: %v (%v), want code %d", method, answer, err, want)
		}
	}
	_, metrics := request(t.Context(), t, http.MethodGet, c.url(t, "diagnostics")+"/metrics", "")
	for _, want := range []string{
		`opa_decisions_total{outcome="allowed",path="envoy/authz/allow"} 1`,
		`opa_decisions_total{outcome="denied",path="envoy/authz/allow"} 1`,
		`opa_decision_received_total{source="decision_log"} 2`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	c.stop(t, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
}

// envoyBinary is the path of a program that answers Envoy, built by `regometer
// build`: opa-envoy-plugin, whose source or binary OPA_ENVOY_PLUGIN names, or
// e2e/extauthz, which has the same command line and configuration.
func envoyBinary(t *testing.T) string {
	t.Helper()
	folder, mainPackage := filepath.Join("..", "extauthz"), "."
	if given := os.Getenv("OPA_ENVOY_PLUGIN"); given != "" {
		info, err := os.Stat(given)
		if err != nil {
			t.Fatalf("OPA_ENVOY_PLUGIN: %v", err)
		}
		if !info.IsDir() {
			return given
		}
		folder, mainPackage = given, "./cmd/opa-envoy-plugin"
	}
	dir := t.TempDir()
	regometer, binary := filepath.Join(dir, "regometer"), filepath.Join(dir, "opa-envoy")
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, work string // this repository's go.work is no concern of the program
		args      []string
	}{
		{root, "", []string{"go", "build", "-o", regometer, "./cmd/regometer"}},
		{dir, "off", []string{regometer, "build", "-C", folder, mainPackage, "-o", binary}},
	} {
		cmd := exec.Command(c.args[0], c.args[1:]...)
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "GOWORK="+c.work, "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", c.args, err, out)
		}
	}
	return binary
}

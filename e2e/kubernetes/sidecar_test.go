// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	authconfig "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3" // a type in envoy.yaml
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3" // a type in envoy.yaml
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/regometer/regometer/e2e/harness"
)

const (
	sidecar     = examples + "/sidecar"
	authAddress = "127.0.0.1:9191" // Envoy asks OPA there
)

// TestEnvoy: Envoy's own types accept its configuration, which sends requests
// to the application if OPA allows them, by the addresses of the pod.
func TestEnvoy(t *testing.T) {
	objects := mustRender(t, harness.Root, sidecar)
	var text string
	for _, c := range of[*core.ConfigMap](objects) {
		text += c.Data["envoy.yaml"]
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err)
	var config bootstrap.Bootstrap
	require.NoError(t, protojson.Unmarshal(asJSON, &config))
	require.NoError(t, config.ValidateAll())

	listener := config.GetStaticResources().GetListeners()[0]
	pod := &of[*apps.Deployment](objects)[0].Spec.Template
	port, ok := portOf(pod, of[*core.Service](objects)[0].Spec.Ports[0].TargetPort)
	assert.True(t, ok, "the port of the Service")
	address := listener.GetAddress().GetSocketAddress()
	assert.Equal(t, "0.0.0.0", address.GetAddress())
	assert.EqualValues(t, port, address.GetPortValue())
	var manager hcm.HttpConnectionManager
	require.NoError(t, listener.GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(&manager))
	var authorization authconfig.ExtAuthz
	require.NoError(t, manager.GetHttpFilters()[0].GetTypedConfig().UnmarshalTo(&authorization))
	assert.False(t, authorization.GetFailureModeAllow(), "Envoy forwards requests if OPA does not answer")
	clusters := map[string]string{} // addresses by name
	for _, c := range config.GetStaticResources().GetClusters() {
		address := c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
		clusters[c.GetName()] = fmt.Sprintf("%s:%d", address.GetAddress(), address.GetPortValue())
	}
	assert.Equal(t, authAddress, clusters[authorization.GetGrpcService().GetEnvoyGrpc().GetClusterName()])
	route := manager.GetRouteConfig().GetVirtualHosts()[0].GetRoutes()[0].GetRoute()
	assert.Equal(t, "127.0.0.1:8080", clusters[route.GetCluster()])
}

// TestSidecar runs OPA as Envoy's sidecar, and asks it as Envoy does, and
// through Envoy if there is one.
func TestSidecar(t *testing.T) {
	harness.Need(t)
	binary := harness.EnvoyPlugin(t)
	if binary == "" {
		binary = harness.ExtAuthz(t)
	}
	t.Parallel()
	c := start(t, binary, mustRender(t, harness.Root, sidecar), []string{"127.0.0.1:8181", ":8282", authAddress}, asItIs)
	c.awaitReady(t)

	connection, err := grpc.NewClient(c.local[authAddress], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	for method, want := range map[string]codes.Code{http.MethodGet: codes.OK, http.MethodPost: codes.PermissionDenied} {
		answer, err := auth.NewAuthorizationClient(connection).Check(t.Context(), &auth.CheckRequest{Attributes: &auth.AttributeContext{
			Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{Method: method, Path: "/"}},
		}})
		require.NoError(t, err, method)
		assert.EqualValues(t, want, answer.GetStatus().GetCode(), method)
	}
	allowed, denied := 1, 1
	if envoy := harness.Envoy(); envoy != "" {
		url := startEnvoy(t, envoy, c)
		for range 3 {
			assert.Equal(t, http.StatusOK, get(t, http.MethodGet, url))
		}
		for range 2 {
			assert.Equal(t, http.StatusForbidden, get(t, http.MethodPost, url))
		}
		allowed, denied = allowed+3, denied+2
	} else {
		t.Log("there is no envoy on PATH: make test-envoy fetches one")
	}
	c.checkMetrics(t, "diagnostics",
		fmt.Sprintf(`opa_decisions_total{outcome="allowed",path="envoy/authz/allow"} %d`, allowed),
		fmt.Sprintf(`opa_decisions_total{outcome="denied",path="envoy/authz/allow"} %d`, denied),
		fmt.Sprintf(`opa_decision_received_total{source="decision_log"} %d`, allowed+denied))
	c.stop(t)
}

// startEnvoy runs Envoy with the example's configuration before an application,
// and returns its URL once it asks the container.
func startEnvoy(t *testing.T, envoy string, c *container) (url string) {
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(app.Close)
	listen := harness.FreeAddress(t)
	text := harness.Read(t, "examples/kubernetes/sidecar/envoy.yaml")
	for there, local := range map[string]string{"0.0.0.0:8000": listen, "127.0.0.1:8080": app.Listener.Addr().String(), authAddress: c.local[authAddress]} {
		const form = "{address: %s, port_value: %s}"
		host, port, err := net.SplitHostPort(there)
		require.NoError(t, err)
		localHost, localPort, err := net.SplitHostPort(local)
		require.NoError(t, err)
		before := fmt.Sprintf(form, host, port)
		require.Contains(t, text, before)
		text = strings.ReplaceAll(text, before, fmt.Sprintf(form, localHost, localPort))
	}
	harness.Start(t, exec.Command(envoy, "--config-yaml", text, "--use-dynamic-base-id", "--log-level", "warn"))
	harness.Await(t, "Envoy answers", func() bool {
		connection, err := net.Dial("tcp", listen)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	return "http://" + listen
}

// get returns the HTTP status of an answer.
func get(t *testing.T, method, url string) int {
	status, _, err := harness.Ask(t.Context(), method, url, "", "")
	require.NoError(t, err)
	return status
}

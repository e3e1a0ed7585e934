// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/util"
)

const pluginName = "envoy_ext_authz_grpc"

// A config is the part of OPA's configuration under the plugin's name.
type config struct {
	Addr string `json:"addr"` // host and port
	Path string `json:"path"` // of the decision, with slashes
}

// A factory makes the plugin for OPA's runtime.
type factory struct{}

var _ plugins.Factory = factory{}

func (factory) Validate(_ *plugins.Manager, text []byte) (any, error) {
	c := &config{Addr: ":9191", Path: "envoy/authz/allow"}
	if err := util.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("plugins.%s: %w", pluginName, err)
	}
	return c, nil
}

func (factory) New(m *plugins.Manager, c any) plugins.Plugin {
	m.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateNotReady})
	return &authorizer{manager: m, config: c.(*config), server: grpc.NewServer()}
}

// An authorizer answers Envoy according to OPA's current policy.
type authorizer struct {
	authv3.UnimplementedAuthorizationServer

	manager *plugins.Manager
	config  *config
	server  *grpc.Server
}

// Start begins to listen.
func (a *authorizer) Start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", a.config.Addr)
	if err != nil {
		return fmt.Errorf("plugins.%s.addr: %w", pluginName, err)
	}
	authv3.RegisterAuthorizationServer(a.server, a)
	go func() {
		if err := a.server.Serve(listener); err != nil {
			a.manager.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateErr, Message: err.Error()})
		}
	}()
	a.manager.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateOK})
	return nil
}

// Stop waits until the current requests are complete.
func (a *authorizer) Stop(context.Context) { a.server.GracefulStop() }

// Reconfigure changes nothing.
func (*authorizer) Reconfigure(context.Context, any) {}

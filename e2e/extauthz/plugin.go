// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/util"
)

const pluginName = "envoy_ext_authz_grpc"

// A config is what OPA's configuration has under the plugin's name.
type config struct {
	Addr string `json:"addr"` // host and port
	Path string `json:"path"` // of the decision, with slashes

	query ast.Body // of Path
}

// A factory is what OPA's runtime makes the plugin by.
type factory struct{}

var _ plugins.Factory = factory{}

func (factory) Validate(_ *plugins.Manager, text []byte) (any, error) {
	c := &config{Addr: ":9191", Path: "envoy/authz/allow"}
	if err := util.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("plugins.%s: %w", pluginName, err)
	}
	ref, err := ast.PtrRef(ast.DefaultRootDocument, c.Path)
	if err != nil {
		return nil, fmt.Errorf("plugins.%s.path: %q is no path: %w", pluginName, c.Path, err)
	}
	c.query = ast.NewBody(ast.NewExpr(ast.NewTerm(ref)))
	return c, nil
}

func (factory) New(m *plugins.Manager, c any) plugins.Plugin {
	m.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateNotReady})
	return &authorizer{manager: m, config: c.(*config), server: grpc.NewServer()}
}

// An authorizer answers Envoy. It decides by the policy that OPA has at that
// time.
type authorizer struct {
	authv3.UnimplementedAuthorizationServer

	manager *plugins.Manager
	config  *config
	server  *grpc.Server

	prepared atomic.Pointer[preparedQuery] // nil before the first decision
}

// Start begins to listen. It fails if the address cannot be had.
func (a *authorizer) Start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", a.config.Addr)
	if err != nil {
		return fmt.Errorf("plugins.%s.addr: %w", pluginName, err)
	}
	authv3.RegisterAuthorizationServer(a.server, a)
	go func() {
		if err := a.server.Serve(listener); err != nil {
			a.manager.Logger().Error("The server of ext_authz has ended: %v.", err)
			a.manager.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateErr, Message: err.Error()})
		}
	}()
	a.manager.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateOK})
	return nil
}

// Stop answers the requests that are there and no more.
func (a *authorizer) Stop(context.Context) {
	a.manager.UpdatePluginStatus(pluginName, &plugins.Status{State: plugins.StateNotReady})
	a.server.GracefulStop()
}

// Reconfigure changes nothing: what is listened to stays as it is.
func (*authorizer) Reconfigure(context.Context, any) {}

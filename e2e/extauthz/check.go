// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/google/uuid"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
)

// Check decides a request from Envoy, and logs the decision. It fails if the
// decision fails. Envoy's configuration says what Envoy does then.
func (a *authorizer) Check(ctx context.Context, request *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	d := &server.Info{Timestamp: time.Now(), DecisionID: uuid.NewString(), Path: a.config.Path, Metrics: metrics.New()}
	d.Metrics.Timer(metrics.ServerHandler).Start()
	code := codes.PermissionDenied
	err := storage.Txn(ctx, a.manager.Store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		d.Txn = txn
		var allowed bool
		if allowed, d.Error = a.decide(ctx, request, d); allowed {
			code = codes.OK
		}
		// A timer that still runs would be 0 in the log.
		d.Metrics.Timer(metrics.ServerHandler).Stop()
		log := logs.Lookup(a.manager)
		if log == nil {
			return nil
		}
		return log.Log(context.WithoutCancel(ctx), d) // also if the client has gone
	})
	if err := errors.Join(d.Error, err); err != nil {
		return nil, err
	}
	return &authv3.CheckResponse{Status: &rpcstatus.Status{Code: int32(code)}}, nil
}

// decide evaluates the policy, and sets the decision's input and result.
func (a *authorizer) decide(ctx context.Context, request *authv3.CheckRequest, d *server.Info) (allowed bool, err error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return false, err
	}
	var input any
	if err := json.Unmarshal(text, &input); err != nil {
		return false, err
	}
	d.Input = &input
	results, err := rego.New(
		rego.Query("data."+strings.ReplaceAll(d.Path, "/", ".")), rego.Compiler(a.manager.GetCompiler()), rego.Runtime(a.manager.Info),
		rego.Store(a.manager.Store), rego.Transaction(d.Txn), rego.Input(input), rego.Metrics(d.Metrics),
	).Eval(ctx)
	if err != nil {
		return false, err
	}
	if len(results) == 0 {
		return false, &failure{"undefined decision"}
	}
	verdict := results[0].Expressions[0].Value
	d.Results = &verdict
	if object, ok := verdict.(map[string]any); ok {
		verdict = object["allowed"]
	}
	allowed, ok := verdict.(bool)
	if !ok {
		return false, &failure{fmt.Sprintf("invalid result of type %T: it must be a boolean, or an object with a boolean field allowed", verdict)}
	}
	return allowed, nil
}

// A failure is an error that OPA logs as an object with its field.
type failure struct {
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

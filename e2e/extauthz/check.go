// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/google/uuid"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
)

// Check decides a request of Envoy's, and logs the decision. Envoy gets an
// error if there is none: what it does then is its own configuration's matter.
func (a *authorizer) Check(ctx context.Context, request *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	d := &decision{path: a.config.Path, id: uuid.NewString(), metrics: metrics.New()}
	d.metrics.Timer(metrics.ServerHandler).Start()
	err := storage.Txn(ctx, a.manager.Store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		d.txn = txn
		d.err = a.decide(ctx, request, d)
		// Before it is logged: a timer that runs is 0 in the log.
		d.metrics.Timer(metrics.ServerHandler).Stop()
		return d.log(ctx, logs.Lookup(a.manager))
	})
	if err = errors.Join(d.err, err); err != nil {
		return nil, err
	}
	code := codes.PermissionDenied
	if d.allowed {
		code = codes.OK
	}
	return &authv3.CheckResponse{Status: &rpcstatus.Status{Code: int32(code)}}, nil
}

// A decision is all that is known of one.
type decision struct {
	path, id string
	metrics  metrics.Metrics
	txn      storage.Transaction
	input    any
	result   *any // nil: undefined
	allowed  bool
	err      error
}

// decide sets the decision's input, result and verdict.
func (a *authorizer) decide(ctx context.Context, request *authv3.CheckRequest, d *decision) error {
	text, err := protojson.Marshal(request)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &d.input); err != nil {
		return err
	}
	query, err := a.query(ctx, d)
	if err != nil {
		return err
	}
	results, err := query.Eval(ctx, rego.EvalInput(d.input), rego.EvalTransaction(d.txn), rego.EvalMetrics(d.metrics))
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return &failure{"undefined decision"}
	}
	d.result = &results[0].Expressions[0].Value
	verdict := *d.result
	if object, ok := verdict.(map[string]any); ok {
		verdict = object["allowed"]
	}
	allowed, ok := verdict.(bool)
	if !ok {
		return &failure{fmt.Sprintf("the result is %T: want a boolean, or an object with a boolean field allowed", *d.result)}
	}
	d.allowed = allowed
	return nil
}

// A preparedQuery is the query as one compiler has it.
type preparedQuery struct {
	compiler *ast.Compiler
	query    rego.PreparedEvalQuery
}

// query returns the query as the policy of now has it.
func (a *authorizer) query(ctx context.Context, d *decision) (rego.PreparedEvalQuery, error) {
	compiler := a.manager.GetCompiler()
	if p := a.prepared.Load(); p != nil && p.compiler == compiler {
		return p.query, nil
	}
	query, err := rego.New(
		rego.ParsedQuery(a.config.query), rego.Compiler(compiler), rego.Runtime(a.manager.Info),
		rego.Store(a.manager.Store), rego.Transaction(d.txn), rego.Metrics(d.metrics),
	).PrepareForEval(ctx)
	if err == nil {
		a.prepared.Store(&preparedQuery{compiler, query})
	}
	return query, err
}

// log hands the decision to OPA's decision log, if there is one: without, no
// plugin gets to know of it.
func (d *decision) log(ctx context.Context, to *logs.Plugin) error {
	if to == nil {
		return nil
	}
	info := &server.Info{
		Timestamp: time.Now(), DecisionID: d.id, Path: d.path, Txn: d.txn,
		Input: &d.input, Results: d.result, Error: d.err, Metrics: d.metrics,
	}
	// A client that has gone away does not keep its decision from the log.
	return to.Log(context.WithoutCancel(ctx), info)
}

// A failure is an error as OPA logs it: its fields are what is written.
type failure struct {
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

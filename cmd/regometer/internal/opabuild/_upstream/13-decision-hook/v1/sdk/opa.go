// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/hooks"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/storage"
	"sync"
)

// OPA represents an instance of the policy engine. OPA can be started with
// several options that control configuration, logging, and lifecycle.
type OPA struct {
	id          string
	state       *state
	mtx         sync.Mutex
	logger      logging.Logger
	console     logging.Logger
	plugins     map[string]plugins.Factory
	store       storage.Store
	hooks       hooks.Hooks
	decisions   []hooks.DecisionHook
	config      []byte
	regoVersion ast.RegoVersion
	managerOpts []func(*plugins.Manager)
}

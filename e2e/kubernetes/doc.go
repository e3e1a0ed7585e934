// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes tests examples/kubernetes, charts/opa and
// docs/kubernetes.md without a cluster. It has only tests:
//
//	go test ./kubernetes # kustomize, Helm, its linter and the types of the real APIs: seconds
//	REGOMETER_APISERVER=1 go test ./kubernetes -run APIServer -timeout 0
//
// The last command applies everything to a real kube-apiserver, which its first
// run builds.
package kubernetes

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes tests examples/kubernetes, charts/opa and
// docs/kubernetes.md without a cluster. It has only tests:
//
//	go test ./kubernetes                   # kustomize, Helm, its linter and the types of the real APIs: seconds
//	REGOMETER_E2E=1 go test ./kubernetes   # also the containers' command lines, with an OPA that the first run builds
//	REGOMETER_APISERVER=1 go test ./kubernetes -run APIServer -timeout 0
//
// The last command applies everything to a real kube-apiserver, which its first
// run builds. REGOMETER_E2E may also be the path of an opa binary to test. The
// sidecar is e2e/extauthz, or opa-envoy-plugin if OPA_ENVOY_PLUGIN is the path
// of its source, or of a binary that `regometer build` made of it.
package kubernetes

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes tests examples/kubernetes, charts/opa and
// docs/kubernetes.md without a cluster: the types of the real APIs read what
// kustomize and Helm render, and the tests run the containers' command lines.
// It has only tests:
//
//	go test ./kubernetes                   # the manifests: seconds
//	REGOMETER_E2E=1 go test ./kubernetes   # the command lines too, with an OPA that the first run builds
//	make test-apiserver                    # a kube-apiserver validates the manifests, see TestAPIServer
//
// REGOMETER_E2E may also be the path of an opa binary to test. The sidecar is
// e2e/extauthz, or opa-envoy-plugin if OPA_ENVOY_PLUGIN is the path of its
// source, or of a binary that `regometer build` made of it.
package kubernetes

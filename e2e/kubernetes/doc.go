// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes tests examples/kubernetes and docs/kubernetes.md without a
// cluster: what kustomize renders is read by the types of the real APIs, and
// the command lines in it are run. It holds nothing but tests:
//
//	go test ./kubernetes                   # the manifests: seconds
//	REGOMETER_E2E=1 go test ./kubernetes   # the command lines too, with an OPA that is built
//
// REGOMETER_E2E may also be the path of an opa binary that is to be tested.
// OPA_ENVOY_PLUGIN, a folder with the source of opa-envoy-plugin or a binary
// that regometer build made of it, is run as the sidecar then, else
// e2e/extauthz.
package kubernetes

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package otelbridge asks of OpenTelemetry's bridge, which OPA's metrics_export
// uses, that what package prom registers arrives whole. It is apart from prom,
// so that nobody who imports prom gets OpenTelemetry's versions.
package otelbridge

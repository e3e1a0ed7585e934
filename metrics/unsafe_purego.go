// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !gc || purego || !(386 || amd64 || arm64 || loong64 || ppc64 || ppc64le || s390x)

package metrics

func sameName(a, b string) bool { return a == b }

func setWellKnown([]*descriptor) {}

func wellKnown(Kind, string) *descriptor { return nil }

type boxes struct{}

func newBoxes() boxes { return boxes{} }

func (*boxes) release() {}

func (*boxes) int64(v int64) any     { return v }
func (*boxes) uint64(v uint64) any   { return v }
func (*boxes) float64(v float64) any { return v }

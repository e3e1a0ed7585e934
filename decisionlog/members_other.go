// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !gc || purego || !amd64

package decisionlog

func readMembers(*parser, *byte, int, int, *key) (next int, before *key, whole bool) {
	panic("members are not read in blocks")
}

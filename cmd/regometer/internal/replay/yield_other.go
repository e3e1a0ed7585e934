// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package replay

func yield() {}

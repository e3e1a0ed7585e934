// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package opabuild

import (
	"errors"
	"fmt"
	"runtime"
)

func tryLock(string) (unlock func(), err error) {
	return nil, fmt.Errorf("file locks on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

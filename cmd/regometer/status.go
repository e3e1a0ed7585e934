// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// The exit statuses of the command, besides those of opa.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitExceeded    = 3   // --fail-on: a threshold is exceeded, or a rule has a finding or did not run
	exitEmpty       = 4   // a report, or a side of a comparison, has no decisions
	exitInterrupted = 130 // by a signal
)

// A statusError ends the command with a status. The command has already printed
// the reason.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

// steps is the flag --upstream or --upstream=N: how many steps of the series
// for OPA.
type steps int

const allSteps = "all"

func (s *steps) String() string {
	switch *s {
	case 0:
		return ""
	case opabuild.AllSteps:
		return allSteps
	}
	return strconv.Itoa(int(*s))
}

func (s *steps) Set(text string) error {
	if text == allSteps {
		*s = opabuild.AllSteps
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("not a number of steps, from 1 on")
	}
	*s = steps(n)
	return nil
}

func (*steps) Type() string { return "number" }

// addUpstreamFlag adds the flag that asks for steps of the series for OPA.
func addUpstreamFlag(cmd *cobra.Command, n *int) {
	cmd.Flags().VarPF((*steps)(n), "upstream", "", "the series for OPA, or its first `N` steps").NoOptDefVal = allSteps
}

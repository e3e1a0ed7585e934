// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

// The flags of several commands, except those of outputs and reports.

// addOPAFlag adds the flag that names the OPA.
func addOPAFlag(cmd *cobra.Command, opa *string) {
	cmd.Flags().StringVar(opa, "opa", "", "OPA's `version`, or the folder of its source (default \""+opabuild.NewestVersion+"\")")
}

// addPartFlags adds the flags that leave out parts of Regometer.
func addPartFlags(cmd *cobra.Command, o *opabuild.Options, verb string) {
	cmd.Flags().BoolVar(&o.NoPlugin, "no-plugin", false, "leave the plugin out")
	cmd.Flags().BoolVar(&o.Unmodified, "unmodified", false, verb+" OPA as it is, for comparisons")
	addPureFlag(cmd, o)
}

func addPureFlag(cmd *cobra.Command, o *opabuild.Options) {
	cmd.Flags().BoolVar(&o.Pure, "pure", false, "put in the drop-in alone, without fixes, plugin and hook")
}

// addUpstreamFlag adds the flag that asks for steps of the series for OPA.
func addUpstreamFlag(cmd *cobra.Command, steps *int) {
	const name, all = "upstream", "all"
	cmd.Flags().Func(name, "the series for OPA, or its first `N` steps", func(text string) (err error) {
		*steps = opabuild.AllSteps
		if text != all {
			if *steps, err = strconv.Atoi(text); err != nil || *steps < 1 {
				return errors.New("the number of steps must be 1 or more")
			}
		}
		return nil
	})
	cmd.Flags().Lookup(name).NoOptDefVal = all
}

// addChdirFlag adds the flag that names a program's folder. The error of an
// unknown flag then says where the flags of the go command go.
func addChdirFlag(cmd *cobra.Command, dir *string, goCommand string) {
	cmd.Flags().StringVarP(dir, "chdir", "C", "", "`folder` of a program with OPA inside, in which to run the go command")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown ") {
			return fmt.Errorf("%w (flags for %s follow a --, after the package)", err, goCommand)
		}
		return err
	})
}

// programOf returns the packages and the flags for the go command in the
// arguments. It reports whether they name a program: otherwise the command is
// for OPA itself.
func programOf(cmd *cobra.Command, args []string) (names, flags []string, ok bool) {
	names = args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		names, flags = args[:dash], args[dash:]
	}
	return names, flags, len(names) > 0 || cmd.Flags().Changed("chdir")
}

// checkProgram returns an error if the arguments have flags for the go command
// and no program, or a program and a flag that is for OPA itself.
func checkProgram(cmd *cobra.Command, args []string, forOPA ...string) error {
	_, flags, ok := programOf(cmd, args)
	if !ok && len(flags) > 0 {
		return fmt.Errorf("the flags %q are for the go command, and there is no program: name its package, such as ., or its folder with -C", flags)
	}
	for _, name := range forOPA {
		if ok && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for OPA itself, and a program has the OPA that its go.mod selects: leave the flag out, or use go build and go test for the program as it is", name)
		}
	}
	return nil
}

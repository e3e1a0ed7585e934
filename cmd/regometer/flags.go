// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

// The flags that several commands have, except those of outputs and reports.

// addNumberFlag adds a flag for an integer of 0 or more. The usage names the
// default value.
func addNumberFlag(cmd *cobra.Command, to *int, name string, value int, usage string) {
	*to = value
	cmd.Flags().Func(name, usage, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return errors.New("it must be a whole number of 0 or more")
		}
		*to = n
		return nil
	})
}

// addOPAFlag adds the flag that names the OPA.
func addOPAFlag(cmd *cobra.Command, opa *string) {
	cmd.Flags().StringVar(opa, "opa", "", "OPA's `version`, or the folder of its source (default \""+opabuild.NewestVersion+"\")")
	complete(cmd, "opa", cobra.ShellCompDirectiveDefault, opabuild.NewestVersion, opabuild.OldestVersion, "latest")
}

// complete gives a shell the values of a flag, which it completes. more says
// what else can follow.
func complete(cmd *cobra.Command, flag string, more cobra.ShellCompDirective, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, more)); err != nil {
		panic(err) // the flag does not exist, or has values already
	}
}

// addPartFlags adds the flags that leave out parts of Regometer.
func addPartFlags(cmd *cobra.Command, o *opabuild.Options, verb string) {
	cmd.Flags().BoolVar(&o.NoPlugin, "no-plugin", false, "leave out the plugin and the hook")
	cmd.Flags().BoolVar(&o.Unmodified, "unmodified", false, verb+" OPA as it is, for comparisons")
	addPureFlag(cmd, o)
}

func addPureFlag(cmd *cobra.Command, o *opabuild.Options) {
	cmd.Flags().BoolVar(&o.Pure, "pure", false, "put in only the drop-in: no fixes, no plugin, no hook")
}

// addUpstreamFlag adds the flag that selects steps of the series for OPA.
func addUpstreamFlag(cmd *cobra.Command, steps *int) {
	const name, all = "upstream", "all"
	cmd.Flags().Func(name, "apply the series for OPA, or only its first `N` steps", func(text string) (err error) {
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
	cmd.Flags().StringVarP(dir, "chdir", "C", "", "`folder` of a program with OPA inside, where the go command runs")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown ") {
			return fmt.Errorf("%w (flags for %s come after the package and --)", err, goCommand)
		}
		return err
	})
}

// programOf splits the arguments into packages and flags for the go command. ok
// reports whether they name a program. Otherwise the command is for OPA itself.
func programOf(cmd *cobra.Command, args []string) (names, flags []string, ok bool) {
	names = args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		names, flags = args[:dash], args[dash:]
	}
	return names, flags, len(names) > 0 || cmd.Flags().Changed("chdir")
}

// checkProgram returns an error if the arguments have flags for the go command
// but name no program, or name a program and have a flag that only OPA itself
// can have.
func checkProgram(cmd *cobra.Command, args []string, forOPA ...string) error {
	names, flags, ok := programOf(cmd, args)
	if !ok && len(flags) > 0 {
		return fmt.Errorf("the flags %q are for the go command, but no program is named: name its package, such as ., or its folder with -C", flags)
	}
	for _, name := range forOPA {
		if ok && cmd.Flags().Changed(name) {
			program := cmp.Or(strings.Join(names, " "), cmd.Flag("chdir").Value.String())
			return fmt.Errorf("--%s works only for OPA itself, not for the program %s: leave it out, or name no program", name, program)
		}
	}
	return nil
}

func sizeFlag(cmd *cobra.Command, to *int64, name, usage string) {
	cmd.Flags().Func(name, usage, func(text string) (err error) {
		if *to, err = sizeOf(text); err == nil && *to < 1 {
			err = errors.New("it must be at least 1")
		}
		return err
	})
}

// sizeOf parses a size with or without a unit. KB is 1,000 bytes, KiB 1,024.
func sizeOf(text string) (int64, error) {
	number, factor := strings.TrimSuffix(strings.ToUpper(text), "B"), 1.0
	number, isBinary := strings.CutSuffix(number, "I")
	for i, unit := range [...]string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, factor = rest, math.Pow10(3*(i+1))
			if isBinary {
				factor = math.Ldexp(1, 10*(i+1))
			}
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= factor; err != nil || !(n >= 0 && n < 1<<62) {
		return 0, errors.New("write a size such as 500KB, 10MB or 2GiB")
	}
	return int64(n), nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regometer/regometer/internal/app/opabuild"
)

const buildProgramHelp = `With PACKAGE, the folder or the import path of a main package, or with -C, which
names a folder of its module, it builds that program: any that has OPA inside, of
version ` + opabuild.OldestVersion + ` or later. The OPA that its go.mod, go.work or vendor folder selects,
replaced or not, gets the drop-in, and nothing in the program's folder changes: the
go command is pointed to a patched copy of OPA from outside. Workspaces, other
replacements, the vendor folder, C, GOFLAGS and what follows "--", which goes to
go build, count as they do there. If the program uses OPA's runtime, it gets the
plugin and the hook too. Modules that move to another version, of which there should
be none, are named. What was built is checked to have the drop-in in it.`

const verifyProgramHelp = `With PACKAGES, or with -C, which names a folder of a module, it runs that module's
tests instead, "./..." by default, where they are: on the OPA that the module selects
and on that OPA with the drop-in, as "regometer build" puts it into a program. What
follows "--" goes to go test. No linter runs then.`

// addChdirFlag adds the flag that names a program's folder.
func addChdirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVarP(dir, "chdir", "C", "", "`folder` of a program with OPA inside, in which to run the go command")
}

// addGoFlagHint makes the error of an unknown flag tell where those of the go
// command go.
func addGoFlagHint(cmd *cobra.Command, goCommand string) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown ") {
			return fmt.Errorf("%w (flags for %s follow a --, after the package)", err, goCommand)
		}
		return err
	})
}

// programArgs checks the arguments of a command that is for OPA itself or for a
// program: at most so many names, -1 is any number, and for a program none of
// the flags that are for OPA.
func programArgs(dir *string, most int, forOPA ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		names, flags, ok := programOf(cmd, *dir, args)
		switch {
		case most >= 0 && len(names) > most:
			return fmt.Errorf("one package at a time: %q are %d", names, len(names))
		case !ok && len(flags) > 0:
			return fmt.Errorf("flags for the go command, %q, without a program: name its package, such as ., or its folder by -C", flags)
		case !ok:
			return nil
		}
		for _, name := range forOPA {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for OPA itself: a program has the OPA that its go.mod selects, and go build and go test are for the program as it is", name)
			}
		}
		return nil
	}
}

// programOf returns the packages and the flags for the go command in the
// arguments, and whether a program is meant, and not OPA itself.
func programOf(cmd *cobra.Command, dir string, args []string) (names, flags []string, ok bool) {
	names = args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		names, flags = args[:dash], args[dash:]
	}
	return names, flags, len(names) > 0 || dir != "" || cmd.Flags().Changed("chdir")
}

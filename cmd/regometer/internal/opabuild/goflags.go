// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// buildFlags are the flags of the go command for a user's own program.
type buildFlags struct {
	mod string   // the value of -mod, also from GOFLAGS, or ""
	all []string // the user's flags without -mod
}

// listFlag matches a flag that decides which files are built, so go list must
// get it too. The first group is empty if the flag has no value. The second
// group is empty if the value is the next argument.
var listFlag = regexp.MustCompile(`^--?(?:(tags|buildmode|compiler|pgo)|race|msan|asan|cover|trimpath)(=.*)?$`)

// goflag matches a flag in GOFLAGS, which may be in quotes.
var goflag = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

// readFlags reads the flags on the command line and in GOFLAGS.
func readFlags(args []string, goflags string) (b buildFlags, err error) {
	fromEnv := goflag.FindAllString(goflags, -1)
	for i, flag := range fromEnv {
		fromEnv[i] = strings.Trim(flag, `"'`)
	}
	b.mod, _ = takeFlag(slices.Concat(fromEnv, args), "mod")
	_, b.all = takeFlag(args, "mod")
	for name, why := range map[string]string{
		"modfile": "the program is built in a workspace, where Go refuses it. Change go.mod itself, in a copy of the module if necessary",
		"overlay": "Regometer uses it to add its own files. Put the files into the program's folder, in a copy if necessary",
		"o":       "name the file before the --: -o FILE",
		"C":       "name the folder before the --: -C DIR",
		"json":    "Regometer reads the output itself",
		"count":   "name the number before the --: --count N",
		"n":       "without a build there is nothing to check",
	} {
		flags := slices.Concat(fromEnv, args)
		if _, rest := takeFlag(flags, name); len(rest) < len(flags) {
			return b, fmt.Errorf("the flag -%s cannot be passed on to the go command: %s", name, why)
		}
	}
	return b, nil
}

// list returns the flags that go list needs.
func (b buildFlags) list() (flags []string) {
	for i, arg := range b.all {
		m := listFlag.FindStringSubmatch(arg)
		if m == nil {
			continue
		}
		flags = append(flags, arg)
		if m[1] != "" && m[2] == "" {
			flags = append(flags, b.all[i+1:min(i+2, len(b.all))]...)
		}
	}
	return flags
}

// takeFlag returns the last value of a flag, written -name=value or
// -name value, and the arguments without it.
func takeFlag(args []string, name string) (value string, rest []string) {
	for i := 0; i < len(args); i++ {
		flag, v, hasValue := strings.Cut(args[i], "=")
		if flag != "-"+name && flag != "--"+name {
			rest = append(rest, args[i])
			continue
		}
		if !hasValue && i+1 < len(args) {
			i++
			v = args[i]
		}
		value = v
	}
	return value, rest
}

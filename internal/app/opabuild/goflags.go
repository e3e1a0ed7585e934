// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"slices"
	"strings"
)

// buildFlags are the flags of the go command for a user's own program.
type buildFlags struct {
	mod     string   // of -mod, also from GOFLAGS; "" is none
	overlay string   // the file of -overlay, also from GOFLAGS; "" is none
	all     []string // what was asked for, without these two
}

// Flags that go list takes too, since they decide on what is built.
var (
	listValues = []string{"tags", "buildmode", "compiler", "pgo"}
	listBools  = []string{"race", "msan", "asan", "cover", "trimpath"}
)

// readFlags reads what is asked for on the command line and in GOFLAGS.
func readFlags(args []string, goflags string) (buildFlags, error) {
	var b buildFlags
	fromEnv, err := splitQuoted(goflags)
	if err != nil {
		return b, fmt.Errorf("GOFLAGS: %w", err)
	}
	b.all = args
	for _, f := range []struct {
		name string
		to   *string
	}{{"mod", &b.mod}, {"overlay", &b.overlay}} {
		*f.to, _ = takeFlag(fromEnv, f.name)
		if value, rest := takeFlag(b.all, f.name); len(rest) < len(b.all) {
			*f.to, b.all = value, rest
		}
	}
	for name, why := range map[string]string{
		"modfile": "the program is built in a workspace, in which Go takes none: change go.mod itself, in a copy of the module if need be",
		"o":       "name the file before the --: -o FILE",
		"C":       "name the folder before the --: -C DIR",
		"json":    "the output is read here",
		"count":   "name it before the --: --count N",
		"n":       "without a build there is nothing to check",
	} {
		for _, flags := range [][]string{args, fromEnv} {
			if _, rest := takeFlag(flags, name); len(rest) < len(flags) {
				return b, fmt.Errorf("the flag -%s cannot be handed on to the go command: %s", name, why)
			}
		}
	}
	return b, nil
}

// list returns those of the flags that go list needs.
func (b buildFlags) list() (flags []string) {
	for _, name := range listValues {
		if value, rest := takeFlag(b.all, name); len(rest) < len(b.all) {
			flags = append(flags, "-"+name+"="+value)
		}
	}
	for _, arg := range b.all {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(listBools, name) {
			flags = append(flags, arg)
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

// splitQuoted splits a list of flags as the go command does GOFLAGS: at blanks,
// except those inside a pair of quotes that begins a flag.
func splitQuoted(text string) (list []string, err error) {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return list, nil
		}
		if quote := text[0]; quote == '"' || quote == '\'' {
			value, after, found := strings.Cut(text[1:], string(quote))
			if !found {
				return nil, fmt.Errorf("no end of the quotation %s", text)
			}
			list, text = append(list, value), after
			continue
		}
		end := strings.IndexAny(text, " \t\r\n")
		if end < 0 {
			end = len(text)
		}
		list, text = append(list, text[:end]), text[end:]
	}
}

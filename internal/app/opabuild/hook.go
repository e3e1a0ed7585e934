// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// The decision hook is a change to OPA's package runtime by which plugins see
// each decision of the server, whether or not a decision log is configured: a
// new file, a field of the type Runtime, and some lines in its method
// decisionLogger. Releases that take the fix hookFix do not need it.
//
// Releases differ, so this is not a diff. The method must be exactly as
// expected, except names: a binary without the hook works, but one whose hook
// sees half of the decisions misleads. Whether the hook compiles shows in
// the build, which is then repeated without the hook.
const (
	runtimeDir = "v1/runtime"
	hookFile   = "decision_observer.go"
	hookedFile = "runtime.go"

	hookField = "\n\t// The plugins that see each decision, see DecisionObserver.\n\tobservers decisionObservers\n"
	hookStart = "manager := %s\n\tobservers := %s.observers.of(manager)\n"
	hookEvent = "\tobservers.observe(%s, %s)\n"
	hookMark  = "observers.mark(%s)"
)

//go:embed _opa/decision_observer.go
var hookSource []byte

// hookText is the file in OPA's tree.
var hookText = withOPAHeader(hookSource)

var (
	runtimeType = regexp.MustCompile(`(?ms)^type Runtime struct \{\n.*?^\}\n`)

	// hookedMethod matches the whole method because any other statement could
	// concern the hook. Supported releases differ only in names and in where
	// the manager comes from.
	hookedMethod = regexp.MustCompile(`(?m)^func \((\w+) \*Runtime\) decisionLogger\((\w+) context\.Context, (\w+) \*server\.Info\) error \{` +
		gap + `(\w+) := logs\.Lookup\((\w+)(\.Manager|\.manager\(\))\)` + gap +
		`if (\w+) == nil \{` + gap + `return nil` + gap + `\}` + gap +
		`return (\w+)\.Log\((\w+), (\w+)\)` + gap + `\}\n`)
)

// gap matches the space between statements, with comments.
const gap = `(?:\s|//.*\n)+`

// hookChange returns what puts the decision hook into the source tree of OPA in
// dir with a change. It fails with a [*misfit] if the tree differs from what
// the hook expects.
func hookChange(dir string, change replacement) (replacement, error) {
	lacks := func(what string) error {
		return &misfit{runtimeDir + "/" + hookedFile, errors.New("there is no " + what)}
	}
	text := change[runtimeDir+"/"+hookedFile]
	if text == nil {
		var err error
		if text, err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(runtimeDir), hookedFile)); err != nil {
			return nil, err
		}
	}
	if bytes.Contains(text, []byte("WithDecisionLoggerFunc(")) { // of the step no-op-server
		return nil, lacks("server that calls the method decisionLogger for each decision")
	}
	const method = "method decisionLogger as the hook expects it"
	m := hookedMethod.FindSubmatchIndex(text)
	if m == nil {
		return nil, lacks(method)
	}
	names := make([]string, len(m)/2)
	for i := range names {
		names[i] = string(text[m[2*i]:m[2*i+1]])
	}
	receiver, ctx, event, plugin := names[1], names[2], names[3], names[4]
	if want := []string{receiver, names[6], plugin, plugin, ctx, event}; !slices.Equal(names[5:], want) {
		return nil, lacks(method)
	}
	lookup, argument, argumentEnd, logged, loggedEnd := m[8], m[10], m[13], m[18], m[19]
	text = slices.Concat(
		text[:lookup], fmt.Appendf(nil, hookStart, receiver+names[6], receiver), fmt.Appendf(nil, hookEvent, ctx, event), []byte("\n\t"),
		text[lookup:argument], []byte("manager"), text[argumentEnd:logged], fmt.Appendf(nil, hookMark, ctx), text[loggedEnd:])
	t := runtimeType.FindIndex(text)
	if t == nil {
		return nil, lacks("struct Runtime")
	}
	at := t[1] - len("}\n")
	text = slices.Concat(text[:at], []byte(hookField), text[at:])
	return replacement{hookedFile: text, hookFile: hookText}.in(runtimeDir), nil
}

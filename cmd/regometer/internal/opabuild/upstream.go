// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"regexp"
	"strconv"

	"github.com/regometer/regometer"
)

var (
	ourHeader = regexp.MustCompile(`^// Copyright (\d+) The Regometer Authors\n// SPDX-License-Identifier: Apache-2\.0\n`)
	opaHeader = "// Copyright $1 The OPA Authors.  All rights reserved.\n" +
		"// Use of this source code is governed by an Apache2\n// license that can be found in the LICENSE file.\n"

	goLine = regexp.MustCompile(`(?m)^go[ \t]+(\d+\.\d+)`)
)

// withOPAHeader returns the text of a file with OPA's header instead of ours.
func withOPAHeader(text []byte) []byte { return ourHeader.ReplaceAll(text, []byte(opaHeader)) }

// language returns the Go version that the go.mod in a folder asks for, such as
// "go1.22".
func language(folder fs.FS) (string, error) {
	mod, err := fs.ReadFile(folder, "go.mod")
	if err != nil {
		return "", err
	}
	m := goLine.FindSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("no go line in the go.mod of %v", folder)
	}
	return "go" + string(m[1]), nil
}

// forTests returns the drop-in with those of its tests that can run in the tree of
// OPA in root: they import no other package of ours. If the tree's Go cannot
// compile them, forTests leaves them out, and a note says why.
func (d dropIn) forTests(root string) (_ dropIn, note string, err error) {
	treeGo, err := language(os.DirFS(root))
	if err != nil {
		return nil, "", err
	}
	ourGo, err := language(regometer.Files)
	if err != nil {
		return nil, "", err
	}
	out := dropIn{}
	for name, text := range d {
		text = bytes.ReplaceAll(text, []byte(strconv.Quote(ourModule+"/metrics")), []byte(strconv.Quote(metricsPath)))
		if !isTest(name) || !bytes.Contains(text, []byte(`"`+ourModule)) {
			out[name] = text
		}
	}
	if version.Compare(treeGo, ourGo) >= 0 {
		return out, "", nil
	}
	return out.withoutTests(), fmt.Sprintf("the drop-in's own tests are left out: they are written for %s, this OPA for %s", ourGo, treeGo), nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ruleFile holds the rules as an object of the Prometheus operator.
const ruleFile = "prometheusrule.yaml"

const ruleHead = `# make dashboards writes this file for the Prometheus operator. Change
# recording-rules.yaml and alerting-rules.yaml instead.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: opa-decisions
spec:
  groups:
`

// prometheusRule returns the groups of both files of rules in dir as one
// object. It fails if a file is missing or has no groups.
func prometheusRule(dir string) ([]byte, error) {
	var b strings.Builder
	b.WriteString(ruleHead)
	for _, name := range []string{"recording-rules.yaml", "alerting-rules.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		_, groups, ok := strings.Cut(string(text), "\ngroups:\n")
		if !ok {
			return nil, fmt.Errorf("%s has no line %q", name, "groups:")
		}
		for line := range strings.Lines(groups) {
			if line != "\n" {
				b.WriteString("  ")
			}
			b.WriteString(line)
		}
	}
	return []byte(b.String()), nil
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Dashboards writes the Grafana dashboards. One queries native histograms and
// the other classic ones; otherwise they are the same. It also writes the rules
// for Prometheus as an object of the Prometheus operator. It runs in the
// repository's root.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/regometer/regometer/bench/internal/measure"
)

func main() {
	measure.Main("dashboards", func(context.Context) error { return write("dashboards") })
}

func write(dir string) error {
	for name, form := range forms {
		text, err := render(newDashboard(form))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	text, err := prometheusRule(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ruleFile), text, 0o666)
}

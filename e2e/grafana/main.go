// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Grafana writes the Grafana dashboards: one that queries native histograms and
// one that queries classic ones, otherwise the same.
//
//	go run ./grafana
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", filepath.Join("..", "dashboards"), "`folder` to write to")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Writes the Grafana dashboards. Run it in the folder e2e:\n\n  go run ./grafana [-dir folder]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := write(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
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
	return nil
}

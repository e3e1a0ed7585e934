// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// A serverSetup is a server that is measured.
type serverSetup struct {
	impl, title string
	unmodified  bool   // OPA as it is, else the binary of `regometer build`
	config      string // as in measure.Server
	observed    bool   // likewise
	rival       bool   // whether Regometer loses where the figures are above the first server's
	target      bool   // whether allocations and bytes are to be below the first server's
	beside      string // an impl by which the figures are shown too
	besideTitle string
}

// serverSetups are the servers, in the order of the tables. The figures of all
// are shown by those of the first, so those of the second, which is the same
// again, tell how much of that is noise. No name is one of earlier figures that
// may still be there, where "opa" had its decision log on.
var serverSetups = []serverSetup{
	{impl: "unmodified", title: "unmodified OPA, nothing on", unmodified: true},
	{impl: "unmodified_again", title: "… a second server of the same binary", unmodified: true},
	{impl: "dropin", title: "with the drop-in, nothing on", rival: true},
	{impl: "plugin", title: "with the drop-in and the plugin", config: `{"plugins": {"regometer": {}}}`,
		observed: true, rival: true, target: true, beside: "dropin", besideTitle: "… by the drop-in alone"},
	{impl: "plugin_log", title: "with the drop-in and the plugin, also as decision logger", observed: true, rival: true,
		config: `{"plugins": {"regometer": {}}, "decision_logs": {"plugin": "regometer"}}`},
	{impl: "unmodified_console", title: "unmodified OPA, decision log on the console", unmodified: true,
		config: `{"decision_logs": {"console": true}}`},
	{impl: "dropin_console", title: "with the drop-in, decision log on the console", config: `{"decision_logs": {"console": true}}`,
		beside: "unmodified_console", besideTitle: "… by unmodified OPA with that log"},
}

// server measures servers of OPA as it is and of the binary of `regometer
// build`.
func (m *measurer) server(ctx context.Context) ([]byte, error) {
	m.progress.Printf("server: building OPA %s as it is and with the drop-in, unless they are cached", m.OPAVersion)
	binaries := make(map[bool]string) // by whether it is unmodified
	for _, unmodified := range []bool{true, false} {
		binary, err := opabuild.Build(ctx, opabuild.Options{OPA: m.OPAVersion, Unmodified: unmodified, Progress: m.progress.W})
		if err != nil {
			return nil, err
		}
		binaries[unmodified] = binary
	}
	var servers []measure.Server
	for _, s := range serverSetups {
		servers = append(servers, measure.Server{Impl: s.impl, Binary: binaries[s.unmodified], Config: s.config, Observed: s.observed})
	}
	return measure.Servers(ctx, m.work, servers, m.runs, m.requests, m.progress)
}

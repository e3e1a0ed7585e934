// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regometer/regometer/cmd/regometer/internal/collect"
	"github.com/regometer/regometer/cmd/regometer/internal/replay"
)

// collectOptions are the flags of collect.
type collectOptions struct {
	addr, config, forward string
	policies              []string
	token, cert, key, ca  string
	body, event           int64
	profile               float64 // a share of one processor
	timeout               time.Duration
}

func newCollectCommand() *cobra.Command {
	var o collectOptions
	cmd := &cobra.Command{
		Use:   "collect [-]",
		Short: "Count the decisions that OPA servers upload, for Prometheus",
		Long: `Takes the decision logs that OPA servers upload, of OPA 0.34 or later, and serves the
durations and outcomes of their decisions on /metrics. The servers need this in their
configuration, beside the services of bundles and status, which get status 404 here:

  services: {regometer: {url: http://127.0.0.1:18191}}
  decision_logs: {service: regometer, reporting: {min_delay_seconds: 5, max_delay_seconds: 10}}

The bodies are dropped after they are counted, unless --forward names the server that
got them before. Then each body goes on unchanged, and the command counts it only if
that server accepts it. The command stores nothing. OPA keeps what is not accepted, and
sends it again.

The command takes POST requests at any path except /metrics and /health, from OPA and
from shippers such as Vector and Fluent Bit. With -, it also reads standard input, and
ends with it.

The paths of a policy's rules get labels. All other decisions count as "(query)",
"(data)" or "other". The policy comes from --policy, or from the services and bundles in
--config, which can be OPA's own configuration. Other labels follow plugins.regometer in
it. Policies, tokens and certificates are reloaded when they change.

With --profile, a process of its own evaluates a sample of the decisions again, and
/debug/pprof/rego shows which rules take the time.`,
		Example: `  regometer collect --policy policy/
  regometer collect --forward https://logs.example.com --policy policy/
  regometer collect --config opa.yaml --forward acme
  regometer collect --policy policy/ --profile 2%
  regometer collect --addr :18191 --tls-cert cert.pem --tls-key key.pem --token-file token
  tail -n 0 -F /var/log/opa.log | regometer collect -
  opa run -s --set decision_logs.console=true 2>&1 | tee /dev/stderr | regometer collect -`,
		Args: cobra.ArbitraryArgs,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && !slices.Equal(args, []string{"-"}):
				return fmt.Errorf("%q: write only - for a pipe, such as that of tail -F; regometer report reads other files", args)
			case (o.cert == "") != (o.key == "") || o.ca != "" && o.cert == "":
				return errors.New("--tls-cert and --tls-key belong together, and --tls-ca needs both")
			case o.forward == "" && cmd.Flags().Changed("forward-timeout"):
				return errors.New("--forward-timeout needs --forward")
			case o.profile != 0 && len(o.policies)+len(o.config) == 0:
				return errNoProfilePolicy
			case slices.Contains(o.policies, ""):
				return errors.New("--policy is empty")
			case o.timeout <= 0:
				return errors.New("--forward-timeout must be more than 0")
			}
			var err error
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if f.Value.Type() == "string" && f.Value.String() == "" { // often a variable that is not set
					err = fmt.Errorf("--%s is empty", f.Name)
				}
			})
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCollect(cmd, &o, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.addr, "addr", "127.0.0.1:18191", "`address` to listen on")
	flags.StringVar(&o.config, "config", "", "`file` with OPA's configuration, for services, bundles and plugins.regometer")
	flags.StringArrayVar(&o.policies, "policy", nil, "Rego `file`, folder or bundle whose rules get labels; may be repeated")
	flags.StringVar(&o.forward, "forward", "", "pass each body on to this `URL`, or to the service with this name in --config; without it, bodies are dropped after they are counted")
	flags.DurationVar(&o.timeout, "forward-timeout", collect.DefaultTimeout, "longest `time` for the target's answer; for more than 8s, give the service in OPA's configuration a response_header_timeout_seconds (default 10) that is 2s longer")
	flags.Func("profile", "evaluate a sample of the decisions again, with at most this `share` of one processor, such as 2%, and tell on /debug/pprof/rego which rules take the time", func(text string) error {
		number, isPercent := strings.CutSuffix(text, "%")
		percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !isPercent || err != nil || !(percent > 0 && percent <= 100) {
			return errors.New("write a percentage, such as 2%")
		}
		o.profile = percent / 100
		return nil
	})
	flags.StringVar(&o.token, "token-file", "", "`file` with the bearer token that every request except /health must have")
	flags.StringVar(&o.cert, "tls-cert", "", "`file` with the server's certificate")
	flags.StringVar(&o.key, "tls-key", "", "`file` with the key of this certificate")
	flags.StringVar(&o.ca, "tls-ca", "", "`file` with the authorities of the certificates that clients must have")
	sizeFlag(cmd, &o.body, "max-body", fmt.Sprintf("largest `size` of a body after unpacking (default %dMiB)", collect.DefaultBody>>20))
	sizeFlag(cmd, &o.event, "max-event", fmt.Sprintf("largest `size` of an event (default %dMiB)", collect.DefaultEvent>>20))
	return cmd
}

func runCollect(cmd *cobra.Command, o *collectOptions, args []string) error {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	failed := func(err error) {
		log.Error("A file has changed, but cannot be used. The old content stays.", "error", err)
	}
	opa, err := collect.ReadConfig(o.config)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if os.Getenv(replay.LiveVariable) != "" {
		return replay.Serve(cmd.Context(), o.policies, opa, cmd.InOrStdin(), os.Stdout)
	}
	options := collect.Options{Config: opa.Plugins["regometer"], Version: ownVersion(), MaxBody: o.body, MaxEvent: o.event, Log: log}
	if o.token != "" {
		if options.Token, err = collect.Token(o.token, failed); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
	}
	if o.forward != "" {
		if options.Forward, err = collect.NewForward(o.forward, opa, o.timeout); err != nil {
			return fmt.Errorf("--forward: %w", err)
		}
	}
	var live *replay.Live
	if o.profile != 0 {
		if len(o.policies)+len(opa.Bundles) == 0 {
			return errNoProfilePolicy
		}
		program, _ := os.Executable() // a failure is that of the process
		live = replay.NewLive(o.profile, log, append([]string{program}, os.Args[1:]...)...)
		options.Profiler = live
	}
	c, err := collect.New(options)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	policy, err := collect.NewPolicy(c, o.policies, opa)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: c.ErrorLog()}
	if o.cert != "" {
		if server.TLSConfig, err = collect.ServerTLS(o.cert, o.key, o.ca, failed); err != nil {
			return fmt.Errorf("--tls-cert, --tls-key or --tls-ca: %w", err)
		}
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	scheme := "http"
	if server.TLSConfig != nil {
		listener, scheme = tls.NewListener(listener, server.TLSConfig), "https"
	}
	if a := listener.Addr().(*net.TCPAddr); !a.IP.IsLoopback() && (o.cert == "" || o.token == "" && o.ca == "") {
		log.Warn("Whoever can connect to this address can send decisions and read metrics, because TLS or a token is missing. Use --tls-cert, --tls-key and --token-file, or listen on 127.0.0.1.", "addr", a)
	}
	if o.forward == "" {
		log.Warn("Decision logs that OPA uploads are counted, and then dropped. Name the server that keeps them with --forward.")
	} else if options.Forward.Leads(listener.Addr()) {
		return errors.New("--forward leads to this command itself")
	}
	log.Info("Collecting decisions.", "url", fmt.Sprintf("%s://%s", scheme, listener.Addr()))

	signal.Ignore(syscall.SIGHUP) // files are read again without it
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ended := make(chan error, 3)
	go func() { ended <- server.Serve(listener) }()
	if len(args) > 0 {
		go func() { ended <- c.ReadPipe(cmd.InOrStdin()) }()
	}
	policy.Follow(ctx)
	if live != nil {
		go live.Run(ctx) // its process ends with this one
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		// A signal is the cause in an error of its own, and no failure.
		if cause := context.Cause(ctx); cause == context.Canceled { //nolint:errorlint // which the signal's error also is
			err = cause
		}
	}
	cancel()
	grace, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return errors.Join(err, server.Shutdown(grace), c.Wait(grace))
}

var errNoProfilePolicy = errors.New("--profile needs a policy: name it with --policy, or give --config the configuration of OPA with services and bundles")

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	opabundle "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"
)

// variable is an environment variable in a configuration of OPA.
var variable = regexp.MustCompile(`\$\{.+?\}`)

// ReadConfig reads a configuration of OPA in YAML or JSON. It replaces
// environment variables that are set, as OPA does. The name "" stands for an
// empty configuration.
func ReadConfig(name string) (c config.Config, err error) {
	if name == "" {
		return c, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	err = util.Unmarshal(variable.ReplaceAllFunc(text, func(v []byte) []byte {
		if value, ok := os.LookupEnv(string(v[2 : len(v)-1])); ok {
			return []byte(value)
		}
		return v
	}), &c)
	if err != nil {
		return c, fmt.Errorf("%s is no configuration of OPA: %w", name, err)
	}
	if len(c.Plugins["regometer"])+len(c.Services)+len(c.Bundles) == 0 {
		err = errors.New("the file has no services, bundles or plugins.regometer: give the configuration of OPA, or write plugins: {regometer: {…}}")
	}
	return c, err
}

// services returns OPA's manager of the services and keys of a configuration.
func services(c config.Config) (*plugins.Manager, error) {
	raw, err := json.Marshal(config.Config{Services: c.Services, Keys: c.Keys})
	if err != nil {
		return nil, err
	}
	return plugins.New(raw, "regometer", inmem.New(), plugins.Logger(logging.NewNoOpLogger()))
}

// bundleSources returns the bundles of a configuration as sources of a policy.
func bundleSources(c config.Config) (all []*source, err error) {
	if len(c.Bundles) == 0 {
		return nil, nil
	}
	opa, err := services(c)
	if err != nil {
		return nil, err
	}
	parsed, err := opabundle.NewConfigBuilder().WithBytes(c.Bundles).WithServices(opa.Services()).WithKeyConfigs(opa.PublicKeys()).Parse()
	if err != nil {
		return nil, err
	}
	for name, b := range parsed.Bundles {
		if file, ok := strings.CutPrefix(b.Resource, "file://"); ok {
			s := fileSource(name, file)
			s.open = func(context.Context, string) (io.ReadCloser, string, error) {
				f, err := os.Open(file)
				return f, "", err
			}
			all = append(all, s)
		} else {
			all = append(all, serverSource(opa.Client(b.Service), name, b))
		}
	}
	return all, nil
}

// EachBundle calls do with the name and the content of each bundle of a
// configuration. It downloads bundles from their services.
func EachBundle(ctx context.Context, c config.Config, do func(name string, content io.Reader) error) error {
	sources, err := bundleSources(c)
	for _, s := range sources {
		content, _, err := s.open(ctx, "")
		if err == nil {
			err = errors.Join(do(s.name, content), content.Close())
		}
		if err != nil {
			return fmt.Errorf("bundles.%s: %w", s.name, err)
		}
	}
	return err
}

// serverSource returns a source of a bundle. Its version is the ETag.
func serverSource(client rest.Client, name string, b *opabundle.Source) *source {
	s := &source{name: name, min: time.Minute, max: 2 * time.Minute}
	if p := b.Polling; p.MinDelaySeconds != nil { // and the other, which is not smaller
		s.min = time.Duration(max(*p.MinDelaySeconds, 1)) * time.Second
		s.max = max(time.Duration(*p.MaxDelaySeconds)*time.Second, s.min)
	}
	s.open = func(ctx context.Context, etag string) (io.ReadCloser, string, error) {
		if strings.EqualFold(client.Config().Type, "oci") {
			return nil, "", errors.New("images are not read: name the policy with --policy")
		}
		r, err := client.WithHeader("Prefer", "modes=snapshot").WithHeader("If-None-Match", etag).Do(ctx, http.MethodGet, b.Resource)
		if err != nil {
			return nil, "", withoutURL(err)
		}
		if r.StatusCode == http.StatusOK {
			return r.Body, r.Header.Get("ETag"), nil
		}
		defer r.Body.Close()
		if r.StatusCode == http.StatusNotModified {
			return nil, "", nil
		}
		return nil, "", fmt.Errorf("the server answers %s: check bundles.%s.resource, and services.%s with its credentials, in --config", r.Status, name, b.Service)
	}
	s.read = func(ctx context.Context, etag string) (modules, string, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		content, now, err := s.open(ctx, etag)
		if content == nil {
			return nil, "", err
		}
		defer content.Close()
		m := modules{}
		return m, now, readBundle(m, "bundles."+name, content)
	}
	return s
}

// withoutURL returns an error of a request without the URL, which may be secret.
func withoutURL(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		return outer.Err
	}
	return err
}

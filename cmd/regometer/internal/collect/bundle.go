// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	opabundle "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"
)

// OPAConfig is a configuration of OPA, as far as it concerns labels.
type OPAConfig struct {
	Plugins struct {
		Regometer json.RawMessage `json:"regometer"`
	} `json:"plugins"`
	Services  json.RawMessage `json:"services"`
	Keys      json.RawMessage `json:"keys"`
	Bundles   json.RawMessage `json:"bundles"`
	Discovery json.RawMessage `json:"discovery"`
}

// variable is an environment variable in a configuration of OPA.
var variable = regexp.MustCompile(`\$\{.+?\}`)

// ReadConfig reads a configuration of OPA in YAML or JSON. It replaces
// environment variables that are set, as OPA does. The name "" stands for an
// empty configuration.
func ReadConfig(name string) (c OPAConfig, err error) {
	if name == "" {
		return c, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	text = variable.ReplaceAllFunc(text, func(v []byte) []byte {
		if value, ok := os.LookupEnv(string(v[2 : len(v)-1])); ok {
			return []byte(value)
		}
		return v
	})
	if err := util.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	if len(c.Plugins.Regometer)+len(c.Services)+len(c.Bundles) == 0 {
		return c, fmt.Errorf("%s has no services, bundles or plugins.regometer: give the configuration of OPA, or write plugins: {regometer: {…}}", name)
	}
	return c, nil
}

// manager returns OPA's manager of services and keys.
func (c *OPAConfig) manager() (*plugins.Manager, error) {
	raw, err := json.Marshal(OPAConfig{Services: c.Services, Keys: c.Keys})
	if err != nil {
		return nil, err
	}
	return plugins.New(raw, "regometer", inmem.New(), plugins.Logger(logging.NewNoOpLogger()))
}

// sources returns the bundles as sources of a policy.
func (c *OPAConfig) sources() (all []*source, err error) {
	if len(c.Bundles) == 0 {
		return nil, nil
	}
	opa, err := c.manager()
	if err != nil {
		return nil, err
	}
	config, err := opabundle.NewConfigBuilder().WithBytes(c.Bundles).WithServices(opa.Services()).WithKeyConfigs(opa.PublicKeys()).Parse()
	if err != nil {
		return nil, err
	}
	for name, b := range config.Bundles {
		if file, ok := strings.CutPrefix(b.Resource, "file://"); ok {
			all = append(all, fileSource(name, file))
			continue
		}
		s := &source{name: name, min: time.Minute, max: 2 * time.Minute}
		if p := b.Polling; p.MinDelaySeconds != nil { // and the other, which is not smaller
			s.min = time.Duration(max(*p.MinDelaySeconds, 1)) * time.Second
			s.max = max(time.Duration(*p.MaxDelaySeconds)*time.Second, s.min)
		}
		s.read = func(ctx context.Context, etag string) (modules, string, error) {
			return download(ctx, opa, name, b, etag)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *source) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// download gets a bundle and its ETag, unless that is still the given one.
func download(ctx context.Context, opa *plugins.Manager, name string, b *opabundle.Source, etag string) (m modules, now string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	client := opa.Client(b.Service)
	if strings.EqualFold(client.Config().Type, "oci") {
		return nil, "", errors.New("images are not read: name the policy with --policy")
	}
	r, err := client.WithHeader("Prefer", "modes=snapshot").WithHeader("If-None-Match", etag).Do(ctx, http.MethodGet, b.Resource)
	if err != nil {
		return nil, "", err
	}
	defer r.Body.Close()
	switch r.StatusCode {
	case http.StatusNotModified:
		return nil, etag, nil
	case http.StatusOK:
		m = modules{}
		err = readBundle(m, b.Resource, r.Body)
		return m, r.Header.Get("ETag"), err
	}
	return nil, "", fmt.Errorf("the server answers %s: check bundles.%s.resource, and services.%s with its credentials, in --config", r.Status, name, b.Service)
}

const (
	// maxUnpacked limits a bundle after unpacking, in bytes.
	maxUnpacked = 1 << 30
	// maxRules limits the Rego files of a bundle, in bytes, with fileCost for
	// each. In use, 1 MiB of rules needs 80 to 200 MiB of memory.
	maxRules = 4 << 20
	fileCost = 512
)

// readBundle adds the modules of a bundle. It keeps no data in memory, and does
// not check signatures, because the rules only name paths.
func readBundle(m modules, name string, from io.Reader) error {
	unzip, err := gzip.NewReader(from)
	if err != nil {
		return fmt.Errorf("%s is not a bundle: %w", name, err)
	}
	unpacked := &io.LimitedReader{R: unzip, N: maxUnpacked}
	files := tar.NewReader(unpacked)
	for rest := int64(maxRules); ; {
		header, err := files.Next()
		switch {
		case unpacked.N == 0:
			return fmt.Errorf("%s has more than %d bytes after unpacking", name, maxUnpacked)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case path.Base(header.Name) == "patch.json":
			return fmt.Errorf("%s is a delta bundle, which has no rules: name a snapshot bundle", name)
		case header.Typeflag != tar.TypeReg || path.Ext(header.Name) != ".rego":
			continue
		}
		text, err := readAtMost(files, rest)
		if err == nil {
			err = m.parse(name+"/"+header.Name, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rest -= int64(len(text)) + fileCost
	}
}

// readAtMost reads a text of at most limit bytes.
func readAtMost(from io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, limit+1))
	if int64(len(text)) > limit {
		err = errors.New("there are more than 4 MiB of rules: name the important paths in plugins.regometer.paths.allow of --config, and leave this source out")
	}
	return text, err
}

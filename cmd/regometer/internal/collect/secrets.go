// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// reread is the time after which the content of a file is looked up again.
const reread = 5 * time.Second

// file is a value that comes from files. It follows changes of the files. If
// the new content is invalid, it keeps the old value and reports the error
// once.
type file[T any] struct {
	paths  []string
	parse  func() (T, error)
	failed func(error)

	mu      sync.Mutex
	value   T
	version string
	checked time.Time
}

func newFile[T any](failed func(error), parse func() (T, error), paths ...string) (*file[T], error) {
	f := &file[T]{paths: paths, parse: parse, failed: failed, version: Version(paths), checked: time.Now()}
	var err error
	f.value, err = parse()
	return f, err
}

// get returns the current value.
func (f *file[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < reread {
		return f.value
	}
	f.checked = time.Now()
	if version := Version(f.paths); version != f.version {
		f.version = version
		if value, err := f.parse(); err == nil {
			f.value = value
		} else {
			f.failed(err)
		}
	}
	return f.value
}

var tokenForm = regexp.MustCompile(`^[!-~]+$`)

// Token returns a function that returns the token in a file. It fails if the
// file is missing, or has something else.
func Token(name string, failed func(error)) (func() string, error) {
	f, err := newFile(failed, func() (string, error) {
		text, err := os.ReadFile(name)
		token := strings.TrimSpace(string(text))
		if err == nil && !tokenForm.MatchString(token) {
			err = fmt.Errorf("%s must have a token, in one line without blanks", name)
		}
		return token, err
	}, name)
	if err != nil {
		return nil, err
	}
	return f.get, nil
}

// ServerTLS returns the TLS configuration for a certificate and its key. If ca
// is not "", clients must have a certificate from it. The files are read again
// when they change.
func ServerTLS(cert, key, ca string, failed func(error)) (*tls.Config, error) {
	f, err := newFile(failed, func() (*tls.Config, error) {
		certificate, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		c := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
		if ca != "" {
			c.ClientAuth = tls.RequireAndVerifyClientCert
			c.ClientCAs, err = pool(ca)
		}
		return c, err
	}, files(cert, key, ca)...)
	if err != nil {
		return nil, err
	}
	c := f.get().Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.get(), nil }
	return c, nil
}

func pool(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(text) {
		return nil, errors.New(name + " has no certificates in PEM form")
	}
	return p, nil
}

func files(names ...string) (given []string) {
	for _, name := range names {
		if name != "" {
			given = append(given, name)
		}
	}
	return given
}

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

// reloaded returns a function that returns a value that read takes from files.
// The value follows the files. If they become invalid, the old value stays, and
// failed gets the error once.
func reloaded[T any](failed func(error), read func() (T, error)) (func() T, error) {
	value, err := read()
	var mu sync.Mutex
	last, problem := time.Now(), ""
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < reread {
			return value
		}
		last = time.Now()
		now, err := read()
		if err == nil {
			value, problem = now, ""
		} else if err.Error() != problem {
			problem = err.Error()
			failed(err)
		}
		return value
	}, err
}

var tokenForm = regexp.MustCompile(`^[!-~]+$`)

// Token returns a function that returns the token in a file. It fails if the
// file is missing, or has something else.
func Token(name string, failed func(error)) (func() string, error) {
	return reloaded(failed, func() (string, error) {
		text, err := os.ReadFile(name)
		token := strings.TrimSpace(string(text))
		if err == nil && !tokenForm.MatchString(token) {
			err = fmt.Errorf("%s must have a token, in one line without blanks", name)
		}
		return token, err
	})
}

// ServerTLS returns the TLS configuration for a certificate and its key. If ca
// is not "", clients must have a certificate from it. The files are read again
// when they change.
func ServerTLS(cert, key, ca string, failed func(error)) (*tls.Config, error) {
	get, err := reloaded(failed, func() (*tls.Config, error) {
		certificate, err := tls.LoadX509KeyPair(cert, key)
		c := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
		if err == nil && ca != "" {
			c.ClientAuth = tls.RequireAndVerifyClientCert
			c.ClientCAs, err = pool(ca)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	c := get().Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return get(), nil }
	return c, nil
}

func pool(name string) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	text, err := os.ReadFile(name)
	if err == nil && !p.AppendCertsFromPEM(text) {
		err = errors.New(name + " has no certificates in PEM form")
	}
	return p, err
}

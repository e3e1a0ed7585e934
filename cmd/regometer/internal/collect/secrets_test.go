// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A token changes with its file, within seconds. An invalid one is reported
// once, and the old one stays.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, ok := range map[string]bool{"": false, " \n": false, "abc\r\n": true, "a b": false, "a\nb": false, "a\x80": false} {
		write(text)
		if get, err := Token(name, nil); (err == nil) != ok || err == nil && get() != strings.TrimSpace(text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		write("one")
		failures := 0
		get, err := Token(name, func(error) { failures++ })
		if err != nil {
			t.Fatal(err)
		}
		type step struct {
			text, want string
			failures   int
		}
		before := step{want: "one"}
		for i, step := range []step{{"one", "one", 0}, {"two", "two", 0}, {"", "two", 1}, {"a b", "two", 2}, {"three", "three", 2}} {
			write(step.text)
			at := time.Now().Add(time.Duration(i) * time.Hour) // text of the same length
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
			for second := 1; second <= 15; second++ {
				time.Sleep(time.Second)
				if second == 5 {
					before = step
				}
				if got := get(); got != before.want || failures != before.failures {
					t.Errorf("%q: after %d s the token is %q, want %q, and there are %d failures", step.text, second, got, before.want, failures)
				}
			}
		}
	})
}

// certificate writes a certificate, which is its own authority, and its key.
func certificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Servers and targets can ask for certificates, over HTTP/2.
func TestTLS(t *testing.T) {
	t.Parallel()
	serverCert, serverKey := certificate(t, "server")
	clientCert, clientKey := certificate(t, "client")
	config, err := ServerTLS(serverCert, serverKey, clientCert, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(newCollector(t, Options{}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes
	server.TLS = config
	server.StartTLS()
	defer server.Close()
	for _, test := range []struct {
		cert, key, ca string
		ok            bool
	}{
		{clientCert, clientKey, serverCert, true},
		{"", "", serverCert, false},
		{serverCert, serverKey, serverCert, false},
		{clientCert, clientKey, "", false},
	} {
		service := map[string]any{"url": server.URL}
		if test.ca != "" {
			service["tls"] = map[string]string{"ca_cert": test.ca}
		}
		if test.cert != "" {
			service["credentials"] = map[string]any{"client_tls": map[string]string{"cert": test.cert, "private_key": test.key}}
		}
		services, _ := json.Marshal(map[string]any{"x": service})
		forward, err := NewForward("x", OPAConfig{Services: services}, DefaultTimeout)
		if err != nil {
			t.Fatal(err)
		}
		if current, _ := config.GetConfigForClient(nil); current.MinVersion < tls.VersionTLS12 {
			t.Error("a version of TLS below 1.2 suffices")
		}
		r, err := forward.client.Get(server.URL + "/health")
		if (err == nil) != test.ok {
			t.Errorf("with the certificate %s: %v", test.cert, err)
		}
		if err == nil {
			_ = r.Body.Close()
			if r.ProtoMajor != 2 {
				t.Errorf("the protocol is %s", r.Proto)
			}
		}
	}
	for _, files := range [][3]string{{"missing", serverKey, ""}, {serverCert, clientKey, ""}, {serverCert, serverKey, serverKey}} {
		if _, err := ServerTLS(files[0], files[1], files[2], nil); err == nil {
			t.Errorf("%v are accepted", files)
		}
	}
	ca, _ := certificate(t, "ca")
	other, _ := certificate(t, "other")
	synctest.Test(t, func(t *testing.T) {
		failures := 0
		failed := func(error) { failures++ }
		server, err := ServerTLS(serverCert, serverKey, ca, failed)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			from, to string
			changed  bool // whether the certificates are other ones
			failures int
		}{{other, ca, false, 0}, {clientCert, serverCert, false, 1}, {clientKey, serverKey, true, 1}} {
			if err := os.Rename(step.from, step.to); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			current, _ := server.GetConfigForClient(nil)
			chain := current.Certificates[0].Certificate
			if bytes.Equal(chain[0], server.Certificates[0].Certificate[0]) == step.changed || failures != step.failures {
				t.Errorf("after %s has changed, the certificates do not follow their files, or there are %d failures", step.to, failures)
			}
			if current.ClientCAs.Equal(server.ClientCAs) {
				t.Error("the authorities do not follow their file")
			}
		}
	})
}

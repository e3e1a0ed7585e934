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
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/open-policy-agent/opa/v1/config"
)

// A token changes with its file, within seconds. An invalid one is reported
// once, and the old one stays.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "secret")
	for text, ok := range map[string]bool{"": false, " \n": false, "abc\r\n": true, "a b": false, "a\nb": false, "a\x80": false} {
		write(name, text)
		if get, err := Token(name, nil); (err == nil) != ok || err == nil && get() != strings.TrimSpace(text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		write(name, "one")
		failures := 0
		get := must(Token(name, func(error) { failures++ }))
		old := "one"
		for _, step := range []struct {
			text, want string
			failures   int
		}{{"one", "one", 0}, {"two", "two", 0}, {"", "two", 1}, {"a b", "two", 1}, {"three", "three", 1}, {"a b", "three", 2}} {
			write(name, step.text)
			before := failures
			for second := 1; second <= 15; second++ {
				time.Sleep(time.Second)
				if second == 5 {
					old, before = step.want, step.failures
				}
				if got := get(); got != old || failures != before {
					t.Errorf("%q: after %d s the token is %q, want %q, and there are %d failures", step.text, second, got, old, failures)
				}
			}
		}
	})
}

// certificate writes a certificate, which is its own authority, and its key.
func certificate(t *testing.T) (cert, key string) {
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public := must(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private))
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	write(cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})))
	write(key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(private))})))
	return cert, key
}

// Servers and targets can ask for certificates, over HTTP/2.
func TestTLS(t *testing.T) {
	t.Parallel()
	serverCert, serverKey := certificate(t)
	clientCert, clientKey := certificate(t)
	c, log := newLogged(Options{})
	server := httptest.NewUnstartedServer(c)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = c.ErrorLog()
	server.TLS = must(ServerTLS(serverCert, serverKey, clientCert, nil))
	server.StartTLS()
	defer server.Close()
	const identity = `"credentials": {"client_tls": {"cert": %q, "private_key": %q}}`
	authority, own := fmt.Sprintf(`"tls": {"ca_cert": %q}`, serverCert), fmt.Sprintf(identity, clientCert, clientKey)
	for i, keys := range []string{authority + ", " + own, authority, authority + ", " + fmt.Sprintf(identity, serverCert, serverKey), own} {
		opa := config.Config{Services: fmt.Appendf(nil, `{"x": {"url": %q, %s}}`, server.URL, keys)}
		current := must(server.TLS.GetConfigForClient(nil))
		r, err := must(NewForward("x", opa, DefaultTimeout)).client.Get(server.URL + "/health")
		if (err == nil) != (i == 0) || err == nil && r.ProtoMajor != 2 || current.MinVersion < tls.VersionTLS12 {
			t.Errorf("client %d, of whom only the first may connect: %v, %v", i, r, err)
		}
		if err == nil {
			noError(r.Body.Close())
		}
	}
	got := ""
	eventually(t, "the log has a line of refused connections", func() bool { got += log(); return got != "" })
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="A connection was refused." reason=tls from=127.0.0.1 problem=`) {
		t.Errorf("the log is %s", got)
	}
	c.ErrorLog().Print("http: panic serving 127.0.0.1:1: no")
	if got := log(); !strings.Contains(got, "reason=server") {
		t.Errorf("the log of a panic is %q", got)
	}
	for _, files := range [][3]string{{"missing", serverKey, ""}, {serverCert, clientKey, ""}, {serverCert, serverKey, serverKey}} {
		if _, err := ServerTLS(files[0], files[1], files[2], nil); err == nil {
			t.Errorf("%v are accepted", files)
		}
	}
	ca, _ := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		server := must(ServerTLS(serverCert, serverKey, ca, nil))
		noError(os.Rename(serverCert, ca), os.Rename(clientCert, serverCert), os.Rename(clientKey, serverKey))
		time.Sleep(reread)
		current := must(server.GetConfigForClient(nil))
		if bytes.Equal(current.Certificates[0].Certificate[0], server.Certificates[0].Certificate[0]) || current.ClientCAs.Equal(server.ClientCAs) {
			t.Error("the certificates or the authorities do not follow their files")
		}
	})
}

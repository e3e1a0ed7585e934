// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/prometheus/client_golang/prometheus"
)

// Forward passes bodies on to a target.
type Forward struct {
	url *url.URL
	// client sends the bodies. auth, if not nil, gives them the credentials and
	// headers of a service in place of the sender's.
	client  *http.Client
	auth    rest.HTTPAuthPlugin
	headers map[string]string
	// timeout is the time from sending a body to the whole answer.
	timeout time.Duration
	took    *prometheus.HistogramVec
}

// NewForward returns a target, which is a service in a configuration of OPA, or
// a URL. The errors do not show the URL, because it may have a password.
func NewForward(target string, opa config.Config, timeout time.Duration) (*Forward, error) {
	manager, err := services(opa)
	if err != nil {
		return nil, err
	}
	service, isService := manager.Client(target), slices.Contains(manager.Services(), target)
	if !isService {
		if service, err = rest.New(fmt.Appendf(nil, `{"name": "forward", "url": %q}`, target), nil); err != nil {
			return nil, errors.New("it is no URL")
		}
	}
	c := service.Config()
	f := &Forward{timeout: timeout, headers: c.Headers}
	f.url, err = url.Parse(c.URL)
	switch {
	case err != nil || f.url.Hostname() == "" || f.url.Scheme != "http" && f.url.Scheme != "https":
		return nil, fmt.Errorf("it is neither a URL such as https://logs.example.com, nor a service in --config, which has %s", cmp.Or(strings.Join(slices.Sorted(slices.Values(manager.Services())), ", "), "none"))
	case f.url.User != nil:
		return nil, errors.New("the URL has credentials: write them as credentials of a service in --config, and name this service")
	case strings.ContainsAny(c.URL, "?#"):
		return nil, errors.New("the URL has a query or fragment")
	case c.Credentials.S3Signing != nil: // it reads a body whole
		return nil, errors.New("uploads cannot be signed by s3_signing")
	}
	auth, err := c.AuthPlugin(nil)
	if err != nil {
		return nil, err
	}
	if isService {
		f.auth = auth
	}
	if f.client, err = auth.NewClient(*c); err != nil {
		return nil, err
	}
	f.client.CheckRedirect = keepMethod
	if t, ok := f.client.Transport.(*http.Transport); ok {
		t.MaxIdleConns, t.MaxIdleConnsPerHost, t.DisableCompression = 0, 256, true
		t.ResponseHeaderTimeout = 0 // timeout limits the answer
	}
	return f, nil
}

// Leads reports whether the target is where this process listens.
func (f *Forward) Leads(own net.Addr) bool {
	port := cmp.Or(f.url.Port(), map[string]string{"http": "80", "https": "443"}[f.url.Scheme])
	target, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(f.url.Hostname(), port))
	here, isTCP := own.(*net.TCPAddr)
	return err == nil && isTCP && target.Port == here.Port && (target.IP.Equal(here.IP) || target.IP.IsLoopback() && here.IP.IsUnspecified())
}

// keepMethod follows redirects as OPA does, but only those that keep the method
// and the body.
func keepMethod(next *http.Request, via []*http.Request) error {
	if next.Method != via[0].Method || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// dotSegment finds segments . and .. of a path as a client has written it, also
// if the target or a server behind it decodes the path more than once, takes a
// backslash for a slash, or drops what is behind a semicolon or the path.
var dotSegment = regexp.MustCompile(`(?i)([/\\]|%(25)*(2f|5c))(\.|%(25)*2e){1,2}($|[/\\;#]|%(25)*(2f|5c|3b|3f|23|00))`)

// notInPath finds the characters that a path has only in escaped form.
var notInPath = regexp.MustCompile(`[^!$%&'()*+,\-./0-9:;=@A-Z\[\]_a-z~]`)

// writtenPath returns the path of a request as the client has written it.
func writtenPath(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}

// hopHeaders are headers of a connection, which are not passed on (RFC 9110,
// section 7.6.1).
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"}

// maxAnswer limits the bytes of an answer that are passed back.
const maxAnswer = 64 << 10

// maxRedirects limits the redirects of a body.
const maxRedirects = 10

// send passes a body on, also to where the target redirects it.
func (f *Forward) send(u *upload) *answer {
	target := *f.url
	target.RawPath = strings.TrimSuffix(target.EscapedPath(), "/") + notInPath.ReplaceAllStringFunc(writtenPath(u.URL), url.PathEscape)
	target.Path, _ = url.PathUnescape(target.RawPath) // both parts were parsed before
	target.RawQuery = u.URL.RawQuery
	request := (&http.Request{Method: u.Method, URL: &target, Header: u.Header.Clone(), ContentLength: int64(len(u.text))}).WithContext(u.Context())
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(u.text)), nil }
	request.Body, _ = request.GetBody()
	for _, name := range append(strings.Split(strings.Join(u.Header["Connection"], ","), ","), hopHeaders...) {
		request.Header.Del(strings.TrimSpace(name))
	}
	if f.auth != nil {
		request.Header.Del("Authorization")
	}
	for name, value := range f.headers {
		request.Header.Set(name, value)
	}
	return f.do(request)
}

// do sends a request.
func (f *Forward) do(request *http.Request) *answer {
	begin, a := time.Now(), &answer{}
	ctx, cancel := context.WithTimeout(request.Context(), f.timeout)
	defer cancel()
	err := f.ask(request.WithContext(ctx), a)
	class := "none"
	if err == nil {
		class = fmt.Sprintf("%dxx", a.status/100)
	}
	f.took.WithLabelValues(class).Observe(time.Since(begin).Seconds())
	switch {
	case errors.Is(request.Context().Err(), context.Canceled):
		return refusal("sender", http.StatusBadRequest, "the sender did not wait for the target: compare response_header_timeout_seconds of OPA's service with the target's time")
	case errors.Is(err, context.DeadlineExceeded):
		return refusal("target", http.StatusServiceUnavailable, "the target did not answer in time")
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return refusal("target", http.StatusServiceUnavailable, "%v: name it as tls.ca_cert of a service in --config, and this service with --forward", err)
	case err != nil:
		return refusal("target", http.StatusServiceUnavailable, "no answer of the target: %v", err)
	case class == "3xx":
		a.reason, a.problem = "target", fmt.Sprintf("the target redirects with status %d: name the URL to which it leads", a.status)
	case class != "2xx":
		a.reason, a.problem = "target", fmt.Sprintf("the target answered with status %d", a.status)
	}
	return a
}

// ask sends a request, and notes the answer in a.
func (f *Forward) ask(request *http.Request, a *answer) error {
	if f.auth != nil {
		if err := f.auth.Prepare(request); err != nil {
			return fmt.Errorf("no credentials: %w", err)
		}
	}
	response, err := f.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	a.status, a.header, a.text = response.StatusCode, response.Header, string(text)
	return err
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Forward passes bodies on to a target.
type Forward struct {
	URL       *url.URL
	Transport http.RoundTripper
	// Authorization, if not nil, returns the value of the header Authorization
	// for the target. It replaces that of the sender.
	Authorization func() string
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

// answer is the answer of a target.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// write passes the answer on. OPA 0.34 takes only status 200 as a success.
func (a *answer) write(w http.ResponseWriter) {
	for _, name := range []string{"Content-Type", "Retry-After", "WWW-Authenticate"} {
		if v := a.header.Values(name); len(v) > 0 {
			w.Header()[name] = v
		}
	}
	if a.status/100 == 2 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

var errAborted = errors.New("the sender has closed the connection")

// delivery is a body on its way to the target.
type delivery struct {
	pipe   *io.PipeWriter
	answer chan answer
}

// start begins to pass on what is read from body.
func (f *Forward) start(ctx context.Context, r *http.Request, body *body) *delivery {
	from, to := io.Pipe()
	d := &delivery{to, make(chan answer, 1)}
	body.target = to
	target := *f.URL
	target.RawPath = strings.TrimSuffix(target.EscapedPath(), "/") + notInPath.ReplaceAllStringFunc(writtenPath(r.URL), url.PathEscape)
	target.Path, _ = url.PathUnescape(target.RawPath) // both parts were parsed before
	target.RawQuery = r.URL.RawQuery
	request := (&http.Request{Method: r.Method, URL: &target, Body: from, ContentLength: r.ContentLength, Header: r.Header.Clone()}).WithContext(ctx)
	for _, name := range append(strings.Split(strings.Join(r.Header["Connection"], ","), ","), hopHeaders...) {
		request.Header.Del(strings.TrimSpace(name))
	}
	if f.Authorization != nil {
		request.Header.Set("Authorization", f.Authorization())
	}
	go func() {
		a := f.send(request)
		from.CloseWithError(io.ErrClosedPipe) // no more is wanted
		d.answer <- a
	}()
	return d
}

func (f *Forward) send(request *http.Request) answer {
	response, err := f.Transport.RoundTrip(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return answer{response.StatusCode, response.Header, text, err}
}

// finish ends the body and waits for the target's answer. If the sender failed,
// the target must not take the body for whole.
func (d *delivery) finish(body *body) answer {
	if body.err != nil {
		_ = d.pipe.CloseWithError(errAborted)
	} else {
		_ = d.pipe.Close()
	}
	return <-d.answer
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

const (
	// maxWhole is the size of the largest body that waits in memory, in bytes.
	// OPA's default is 32 KiB.
	maxWhole = 1 << 20
	// maxWaiting limits the bytes of all bodies that wait. Each counts perBody
	// bytes more, for the connections to the sender and to the target.
	maxWaiting = 64 << 20
	perBody    = 48 << 10
	// firstRead is how many bytes of a body have room at first, and beginning
	// how many are read of a larger body before it goes on.
	firstRead = 32 << 10
	beginning = 4 << 10
)

var (
	errBusy = errors.New("too many bodies wait")
	errTurn = errors.New("too many bodies, or too many of more than 1 MiB, are read at the same time")
)

// upload is a request with a body.
type upload struct {
	*http.Request
	text  []byte // the body if it is whole, or its beginning
	whole bool
	held  int64

	collector *Collector
}

// receive reads a body of usual size, or the beginning of a larger one. The
// caller must release it.
func (c *Collector) receive(r *http.Request) (*upload, error) {
	u := c.uploads.Get().(*upload)
	*u = upload{Request: r, text: u.text[:0], collector: c}
	limit := maxWhole
	if r.ContentLength > maxWhole {
		limit = beginning
	} else if r.ContentLength >= 0 {
		limit = int(r.ContentLength)
	}
	if !u.hold(perBody + cap(u.text)) {
		return u, errBusy
	}
	for limit++; len(u.text) < limit; { // with one byte more, to see the end
		if have := cap(u.text); len(u.text) == have {
			size := min(max(2*have, firstRead), limit)
			if !u.hold(size - have) {
				return u, errBusy
			}
			u.text = append(make([]byte, 0, size), u.text...)
		}
		n, err := r.Body.Read(u.text[len(u.text):cap(u.text)])
		u.text = u.text[:len(u.text)+n]
		if u.whole = err == io.EOF; u.whole {
			u.Body = http.NoBody
			break
		} else if err != nil {
			return u, err
		}
	}
	return u, r.Context().Err()
}

// hold reports whether there is room for more bytes of a body that waits.
func (u *upload) hold(bytes int) bool {
	if u.collector.waiting.Add(int64(bytes)) > maxWaiting {
		u.collector.waiting.Add(-int64(bytes))
		return false
	}
	u.held += int64(bytes)
	return true
}

// release gives the room back. The memory is used again, unless it is large, or
// a connection to the target may still read it.
func (u *upload) release() {
	u.collector.waiting.Add(-u.held)
	if cap(u.text) <= firstRead && u.collector.options.Forward == nil {
		u.collector.uploads.Put(u)
	}
}

// isStatus reports whether a body is a status update of OPA, which is one JSON
// object, and not packed.
func (u *upload) isStatus() bool {
	return bytes.HasPrefix(bytes.TrimLeft(u.text, " \t\r\n"), []byte(`{"labels":`)) && !bytes.Contains(u.text, []byte(`"decision_id":`)) &&
		(isOPA(u.Request) || strings.Contains(u.URL.Path+"/", "/status/"))
}

// isOPA reports whether an OPA has sent a request. An OPA sends a body again
// until it gets status 200, and does not go on with other bodies.
func isOPA(r *http.Request) bool {
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	return name == "Open Policy Agent" || name == "Open-Policy-Agent" // older and newer releases
}

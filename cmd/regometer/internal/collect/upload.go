// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

const (
	// maxWaiting limits the bytes of all bodies that wait, and so of each. Each
	// counts perBody bytes more, for the connections to the sender and to the
	// target.
	maxWaiting = 64 << 20
	perBody    = 48 << 10
	// firstRead is how many bytes of a body have room at first. OPA's default is
	// 32 KiB.
	firstRead = 32 << 10
)

var (
	errBusy  = errors.New("too many bodies wait")
	errTurn  = errors.New("too many bodies are counted at the same time")
	errLarge = errors.New("the body has more than 63 MiB: lower upload_size_limit_bytes of OPA")
)

// upload is a request with its body.
type upload struct {
	*http.Request
	text []byte
	held int64 // bytes of the room for all

	waiting *atomic.Int64 // held by all uploads
}

// receive reads a body. The caller must release it.
func receive(r *http.Request, waiting *atomic.Int64) (*upload, error) {
	u := &upload{Request: r, waiting: waiting}
	limit := maxWaiting - perBody
	if r.ContentLength >= int64(limit) {
		return u, errLarge
	} else if r.ContentLength >= 0 {
		limit = int(r.ContentLength) + 1 // with one byte more, to see the end
	}
	if !u.hold(perBody) {
		return u, errBusy
	}
	for {
		if have := cap(u.text); len(u.text) == have {
			size := min(max(2*have, firstRead), limit) // little at first, because the sender may send no more
			if size == have {
				return u, errLarge
			} else if !u.hold(size - have) {
				return u, errBusy
			}
			u.text = append(make([]byte, 0, size), u.text...)
		}
		n, err := r.Body.Read(u.text[len(u.text):cap(u.text)])
		u.text = u.text[:len(u.text)+n]
		if err == io.EOF {
			return u, r.Context().Err()
		} else if err != nil {
			return u, err
		}
	}
}

// hold reports whether there is room for more bytes of a body that waits.
func (u *upload) hold(bytes int) bool {
	if u.waiting.Add(int64(bytes)) > maxWaiting {
		u.waiting.Add(-int64(bytes))
		return false
	}
	u.held += int64(bytes)
	return true
}

// release gives the room back.
func (u *upload) release() { u.waiting.Add(-u.held) }

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

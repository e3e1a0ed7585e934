// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/server/types"
	"github.com/open-policy-agent/opa/v1/util"
)

// Whatever a body has, it is read as by a decoder that reads one value.
func TestReadInputPostV1Decoders(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, ` `, `null`, `5`, `"a"`, `[]`, `{}`, `{`, `}`, `{"input"`, `{"input":}`, `{"input":1,}`,
		`{"input":null}`, `{"input":12345678901234567890.5}`, `{"input":{"a":[1,"é",{"b":null}]}}`,
		" \n{\"input\":true}\t\n", `{"input":1}x`, `{"input":1} {"input":2}`, `{"input":1}}`, `{"in\u0070ut":1}`,
		`{"input":1,"input":2}`, `{"INPUT":1}`, `{"input":1,"com.example/metadata":{"a":[1]}}`, `{"com.example":1e400}`,
		"{\"input\":\"\xff\"}", "{\"input\":\"\x01\"}", "\xef\xbb\xbf{\"input\":1}",
	} {
		var want types.DataRequestV1
		wantErr := ""
		if err := util.NewJSONDecoder(bytes.NewBufferString(body)).Decode(&want); err != nil && err != io.EOF {
			wantErr = "body contains malformed input document: " + err.Error()
		}
		got, err := readInputPostV1(httptest.NewRequest("POST", "/v1/data", bytes.NewBufferString(body)))
		if err != nil {
			if err.Error() != wantErr {
				t.Errorf("%q: error %v, want %q", body, err, wantErr)
			}
			continue
		}
		if wantErr != "" {
			t.Errorf("%q: no error, want %q", body, wantErr)
			continue
		}
		input := func(v *any) any {
			if v == nil {
				return nil
			}
			return *v
		}
		if a, b := fmt.Sprintf("%#v %#v", input(got.GoInput), got.Metadata), fmt.Sprintf("%#v %#v", input(want.Input), want.Metadata); a != b {
			t.Errorf("%q: got %s, want %s", body, a, b)
		}
	}
}

func BenchmarkReadInputPostV1(b *testing.B) {
	const body = `{"input":{"user":"alice","action":"read","resource":"tenants/acme/documents/7"}}`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readInputPostV1(httptest.NewRequest("POST", "/v1/data", strings.NewReader(body))); err != nil {
			b.Fatal(err)
		}
	}
}

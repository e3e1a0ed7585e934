// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
)

// all has texts that end lines, properties or elements, or that XML forbids.
var all = []Check{
	{Name: "p99:a>+20%,b", Texts: []string{"50 % more\nof <b>&]]>", "::error::two\r"}, Failed: true},
	{Name: "found", Texts: []string{"a\x00b\x1b[0m \xff"}},
	{Name: "passed"},
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteGitHub(&b, all); err != nil {
		t.Fatal(err)
	}
	want := "::error title=regometer p99%3Aa>+20%25%2Cb::50 %25 more\\nof <b>&]]>\n" +
		"::error title=regometer p99%3Aa>+20%25%2Cb::::error::two\\r\n" +
		"::notice title=regometer found::a\\x00b\\x1b[0m \\xff\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteJUnit(&b, "regometer report", all); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
				Output  string  `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	s := got.Suites[0]
	if s.Name != "regometer report" || s.Tests != 3 || s.Failures != 1 || len(s.Cases) != 3 {
		t.Fatalf("%+v", s)
	}
	if f := s.Cases[0].Failure; f == nil || *f != "50 % more\nof <b>&]]>\n::error::two\r" || s.Cases[0].Name != all[0].Name {
		t.Errorf("the first case is %+v", s.Cases[0])
	}
	if o := s.Cases[1].Output; o != "a\uFFFDb\uFFFD[0m \uFFFD" || s.Cases[1].Failure != nil || s.Cases[2].Output != "" || s.Cases[2].Failure != nil {
		t.Errorf("the others are %+v", s.Cases[1:])
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(full) error{
		"github": func(w full) error { return WriteGitHub(w, all) },
		"junit":  func(w full) error { return WriteJUnit(w, "x", all) },
	} {
		if err := write(full{}); err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

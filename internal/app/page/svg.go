// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// An ink is a colour by what it is for. What it looks like, on a light and on a
// dark page, the style sheet says: to the plotting library it is a number.
type ink uint8

const (
	inkText ink = iota
	inkAxis
	inkGrid
	inkBar
	inkShare
	inkP50
	inkP99
	inkAllowed // and the other outcomes, in their order
	inkDenied
	inkResult
	inkUndefined
	inkError
	inkCancelled
	inks
)

var inkNames = [inks]string{
	"text", "axis", "grid", "bar", "share", "p50", "p99", "allowed", "denied", "result", "undefined", "error", "cancelled",
}

// RGBA implements color.Color: red is the number.
func (i ink) RGBA() (r, g, b, a uint32) {
	return uint32(i) * 0x101, 0, 0, 0xffff
}

// String returns the class that has the colour.
func (i ink) String() string { return "i-" + inkNames[i] }

// inkOf finds an ink by how the library writes it.
func inkOf(hex string) (ink, error) {
	for i := range inks {
		if hex == fmt.Sprintf("#%02X0000", uint8(i)) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("a colour that is no ink: %q", hex)
}

// render draws a plot, and returns it as an element of a page. The text says
// what it shows to those who do not see it.
func render(p *plot.Plot, width, height vg.Length, text string) (template.HTML, error) {
	canvas := vgsvg.New(width, height)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	return inline(&b, text)
}

// inline writes the library's document anew as an element of a page: with
// classes in place of colours, without typefaces, and without attributes named
// style, which the page's policy forbids. Elements and attributes that are not
// known are errors or left out, so that nothing else gets into the page.
func inline(svg io.Reader, text string) (template.HTML, error) {
	var out strings.Builder
	attribute := func(name, value string) {
		out.WriteString(" " + name + `="`)
		xml.EscapeText(&out, []byte(value)) //nolint:errcheck // a builder takes all
		out.WriteString(`"`)
	}
	inText := false
	for d := xml.NewDecoder(svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return template.HTML(out.String()), nil
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			kept, ok := keptAttributes[name]
			if !ok {
				return "", fmt.Errorf("an element that is not known: %q", name)
			}
			out.WriteString("<" + name)
			if name == "svg" {
				attribute("role", "img")
				attribute("aria-label", text)
			}
			for _, a := range token.Attr {
				if a.Name.Local == "style" {
					classes, styles, err := ofStyle(a.Value)
					if err != nil {
						return "", err
					}
					attribute("class", classes)
					for _, s := range styles {
						attribute(s[0], s[1])
					}
				} else if slices.Contains(kept, a.Name.Local) {
					attribute(a.Name.Local, a.Value)
				}
			}
			out.WriteString(">")
			inText = name == "text"
		case xml.EndElement:
			out.WriteString("</" + token.Name.Local + ">")
			inText = false
		case xml.CharData:
			if inText {
				xml.EscapeText(&out, token) //nolint:errcheck // as above
			}
		}
	}
}

// keptAttributes are the elements that the library writes, each with those of
// its attributes that are kept as they are.
var keptAttributes = map[string][]string{
	"svg":  {"viewBox"},
	"g":    {"transform"},
	"path": {"d"},
	"text": {"x", "y", "transform"},
}

// ofStyle splits a style into classes and the attributes that say the same. A
// line has class s, what is filled has not.
func ofStyle(style string) (classes string, attributes [][2]string, err error) {
	used := inkText
	for declaration := range strings.SplitSeq(style, ";") {
		key, value, _ := strings.Cut(declaration, ":")
		switch key {
		case "fill", "stroke":
			if value == "none" {
				continue
			}
			if used, err = inkOf(value); err != nil {
				return "", nil, err
			}
			if key == "stroke" {
				classes = "s "
			}
		case "stroke-width", "stroke-dasharray", "font-size":
			attributes = append(attributes, [2]string{key, value})
		}
	}
	return classes + used.String(), attributes, nil
}

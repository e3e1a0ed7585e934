// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

var update = flag.Bool("update", false, "write docs/report/example.html")

// written returns the page of a report.
func written(t *testing.T, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parsed returns a page as a browser reads it.
func parsed(t *testing.T, page []byte) *html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// elements iterates over the elements of a name, all if it is empty.
func elements(root *html.Node, name string) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && (name == "" || n.Data == name) && !yield(n) {
				return
			}
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textOf returns the text in an element.
func textOf(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// byID returns the element of an id.
func byID(t *testing.T, root *html.Node, id string) *html.Node {
	t.Helper()
	for n := range elements(root, "") {
		if attribute(n, "id") == id {
			return n
		}
	}
	t.Fatalf("no element %q", id)
	return nil
}

// forAll tests the page of each report.
func forAll(t *testing.T, test func(t *testing.T, name string, page []byte)) {
	for name, report := range reports {
		t.Run(name, func(t *testing.T) { test(t, name, written(t, report())) })
	}
}

// TestExample: the page in the documentation is the one that is written.
func TestExample(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("floating-point numbers may be rounded otherwise here")
	}
	file := filepath.Join("..", "..", "..", "docs", "report", "example.html")
	page := written(t, example())
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, page) {
		t.Error("docs/report/example.html is not what is written now; run: go test ./internal/app/page -run TestExample -update")
	}
	if len(page) > 300_000 {
		t.Errorf("the example has %d bytes", len(page))
	}
}

// TestSections: each page has all sections, findings first.
func TestSections(t *testing.T) {
	want := []string{"findings", "figures", "latency", "distribution", "share", "outcomes", "slowest", "decisions", "input", "stages", "groups"}
	forAll(t, func(t *testing.T, _ string, page []byte) {
		var got []string
		for s := range elements(parsed(t, page), "section") {
			if id := attribute(s, "id"); id != "revisions" {
				got = append(got, id)
			}
			if heading := s.FirstChild.NextSibling; heading.Data != "h2" || len(strings.Fields(textOf(s))) < 4 {
				t.Errorf("section %s begins with %q and has text %q", attribute(s, "id"), heading.Data, textOf(s))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("sections %v, want %v", got, want)
		}
	})
}

// TestNothingToShow: what a report lacks is said in words.
func TestNothingToShow(t *testing.T) {
	for report, want := range map[string]map[string]string{
		"empty": {"findings": "Nothing stands out.", "latency": "No decision has both", "distribution": "no timings", "share": "no timings",
			"outcomes": "No decision has a time", "slowest": "no timings", "decisions": "None were kept", "input": "could be read",
			"stages": "no timings", "groups": "no decisions"},
		"timeless":   {"latency": "No decision has both", "outcomes": "No decision has a time"},
		"unfinished": {"latency": "No decision has both", "distribution": "no timings", "stages": "server_handler 0 7"},
	} {
		root := parsed(t, written(t, reports[report]()))
		for section, want := range want {
			if got := strings.Join(strings.Fields(textOf(byID(t, root, section))), " "); !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q", report, section, got, want)
			}
		}
	}
}

// allowed are the elements of a page, each with its attributes.
var allowed = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "",
	"header": "", "main": "", "footer": "class", "section": "id", "h1": "", "h2": "", "h3": "", "p": "class", "b": "", "i": "class",
	"bdi": "", "code": "", "ol": "class", "ul": "class", "li": "", "dl": "class", "dt": "", "dd": "class",
	"div": "class tabindex role aria-label", "span": "class", "figure": "class", "figcaption": "",
	"table": "", "thead": "", "tbody": "", "tr": "", "th": "scope class", "td": "class", "details": "", "summary": "",
	"svg": "viewBox role aria-label", "g": "transform", "path": "d class stroke-width stroke-dasharray",
	"text": "x y transform class font-size",
}

// TestSelfContained: a page has nothing but elements that cannot refer to
// anything nor run, whatever the report has, and forbids all else.
func TestSelfContained(t *testing.T) {
	forAll(t, func(t *testing.T, _ string, page []byte) {
		root := parsed(t, page)
		var styles, policies []string
		for n := range elements(root, "") {
			attributes, ok := allowed[n.Data]
			if !ok {
				t.Errorf("an element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				if !slices.Contains(strings.Fields(attributes), a.Key) {
					t.Errorf("an attribute %s of <%s>", a.Key, n.Data)
				}
			}
			if n.Data == "style" {
				styles = append(styles, n.FirstChild.Data)
			}
			if attribute(n, "http-equiv") == "Content-Security-Policy" {
				policies = append(policies, attribute(n, "content"))
			}
		}
		if len(styles) != 1 || len(policies) != 1 {
			t.Fatalf("%d style sheets, %d policies", len(styles), len(policies))
		}
		for _, reference := range []string{"url(", "@import", "http:", "https:", "//"} {
			if strings.Contains(styles[0], reference) {
				t.Errorf("the style sheet has %q", reference)
			}
		}
		sum := sha256.Sum256([]byte(styles[0]))
		want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
		if policies[0] != want {
			t.Errorf("the policy is %q, want %q", policies[0], want)
		}
		for n := range root.Descendants() {
			if n.Type == html.CommentNode {
				t.Errorf("a comment: %q", n.Data)
			}
		}
	})
}

// TestTextPrints: no character of a page hides or turns others, and no text is
// longer than it may be.
func TestTextPrints(t *testing.T) {
	forAll(t, func(t *testing.T, _ string, page []byte) {
		if !utf8.Valid(page) {
			t.Error("a page is not UTF-8")
		}
		for n := range parsed(t, page).Descendants() {
			if n.Type != html.TextNode || n.Parent.Data == "style" {
				continue
			}
			for _, r := range n.Data {
				if !unicode.IsPrint(r) && r != '\n' && r != '\u00a0' {
					t.Errorf("a character %U in %.100q", r, n.Data)
				}
			}
			if got := utf8.RuneCountInString(n.Data); got > findingLength+100 && n.Parent.Data != "p" {
				t.Errorf("a text of %d characters: %.100q", got, n.Data)
			}
		}
	})
}

// TestHostileTexts: what a log has is shown as it is, as text, everywhere.
func TestHostileTexts(t *testing.T) {
	root := parsed(t, written(t, hostile()))
	// Some are not in plots, which show but a few stages and groups.
	for _, section := range []string{"findings", "decisions", "revisions", "input", "stages", "groups", "share"} {
		all := strings.Join(strings.Fields(textOf(byID(t, root, section))), " ")
		for _, hostile := range hostileTexts {
			length := keyLength
			switch section {
			case "findings":
				length = findingLength
			case "share":
				length = labelLength
			}
			if want := strings.Join(strings.Fields(text.Fit(hostile, length)), " "); !strings.Contains(all, want) {
				t.Errorf("%s: no %q", section, want)
			}
		}
	}
}

// TestPlots: each plot is an image with a text in its place, scales, and is
// drawn with inks alone.
func TestPlots(t *testing.T) {
	least := map[string]int{"example": 12, "hostile": 15, "one": 6, "many": 8, "extremes": 6, "timeless": 3}
	forAll(t, func(t *testing.T, name string, page []byte) {
		plots := 0
		for svg := range elements(parsed(t, page), "svg") {
			plots++
			if attribute(svg, "role") != "img" || !strings.HasPrefix(attribute(svg, "viewBox"), "0 0 ") || svg.Namespace != "svg" {
				t.Errorf("a plot %v", svg.Attr)
			}
			text := attribute(svg, "aria-label")
			if len(text) < 30 || !strings.ContainsAny(text, "0123456789") {
				t.Errorf("a plot's text has no figure: %q", text)
			}
			for n := range svg.Descendants() {
				if n.Type != html.ElementNode || n.Data == "g" {
					continue
				}
				name := strings.TrimPrefix(strings.TrimPrefix(attribute(n, "class"), "s "), "i-")
				if !slices.Contains(inkNames[:], name) {
					t.Errorf("<%s> has class %q", n.Data, attribute(n, "class"))
				}
			}
		}
		if plots < least[name] {
			t.Errorf("%d plots, want at least %d", plots, least[name])
		}
	})
}

// TestNumbers: the page says what the report says.
func TestNumbers(t *testing.T) {
	r := example()
	root := parsed(t, written(t, r))
	cells := func(section, first string) []string {
		for row := range elements(byID(t, root, section), "tr") {
			var all []string
			for c := range row.ChildNodes() {
				all = append(all, strings.TrimSpace(textOf(c)))
			}
			if len(all) > 0 && all[0] == first {
				return all
			}
		}
		t.Fatalf("%s: no row %q", section, first)
		return nil
	}
	g := r.Groups.At(0)
	handler := report.Outermost(g.Stages)
	if handler == nil || handler.Name != "server_handler" {
		t.Fatal("the example has no handler")
	}
	quantiles := func(s *groupby.Stage) (all []string) {
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 1} {
			all = append(all, duration(s.Durations.Quantile(q)))
		}
		return all
	}
	want := append([]string{g.Key, text.Count(g.Decisions), percent(sum.Ratio(g.Outcomes[0], g.Decisions)),
		percent(sum.Ratio(g.Outcomes[rollup.Error], g.Decisions)), percent(sum.Share(g.Time, r.Total.Time))}, quantiles(handler)...)
	for _, section := range []string{"slowest", "groups"} {
		if got := cells(section, g.Key); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", section, got, want)
		}
	}
	for i := range r.Total.Stages {
		s := &r.Total.Stages[i]
		want := append([]string{s.Name, text.Count(s.Durations.Count()), "0", duration(sum.Float(s.Self)), percent(sum.Share(s.Self, r.Total.Time))}, quantiles(s)...)
		if got := cells("stages", s.Name); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	figures := textOf(byID(t, root, "figures"))
	for _, want := range []string{text.Count(r.Total.Decisions), duration(report.Outermost(r.Total.Stages).Durations.Quantile(0.99)), "3.00" + space + "h",
		fmt.Sprintf("denied %s (%s)", percent(sum.Ratio(r.Total.Outcomes[1], r.Total.Decisions)), text.Count(r.Total.Outcomes[1]))} {
		if !strings.Contains(figures, want) {
			t.Errorf("the key figures %q lack %q", figures, want)
		}
	}
	if got := cells("input", "truncated"); got[1] != "1" || got[2] != "logs/opa-2.log.gz:8112" {
		t.Errorf("problems: %q", got)
	}
	if got := cells("decisions", duration(180e6)); got[3] != "allowed" || !strings.Contains(got[5], "rego_query_eval") {
		t.Errorf("slowest decisions: %q", got)
	}
	if strings.Contains(textOf(root), "interrupted") {
		t.Error("it says that it was interrupted")
	}
	if text := textOf(parsed(t, written(t, oneDecision()))); !strings.Contains(text, "interrupted") {
		t.Error("it does not say that it was interrupted")
	}
}

// TestSize: the page of a report of any size is not large.
func TestSize(t *testing.T) {
	r := manyGroups(1, 1)
	g := group(strings.Repeat("\"", 1000), manyGroups(1, 200).Groups.At(0).Slices...)
	for i := range 1000 {
		name := fmt.Sprint(i, strings.Repeat("<", 1000))
		g.Counters = append(g.Counters, groupby.Counter{Name: name, Total: groupby.Sum{Lo: 1}})
		g.Errors = append(g.Errors, rollup.ErrorTotal{Code: name, Total: 1})
		place := report.Place{File: name, Line: 1}
		r.Findings = append(r.Findings, report.Finding{Rule: name, Text: strings.Repeat(name, 10)})
		r.Inputs.Problems = append(r.Inputs.Problems, report.Problem{Kind: name, First: slices.Repeat([]report.Place{place}, 50)})
		r.Revisions = append(r.Revisions, report.Revision{Name: name})
		r.Slowest = append(r.Slowest, report.SlowDecision{Key: name, ID: name, Place: place, Stages: slices.Repeat([]report.StageTime{{Stage: name}}, 50)})
	}
	r.Groups = report.GroupsOf(slices.Repeat([]report.Group{g}, 50_000)...)
	r.Total = g
	page := written(t, r)
	if len(page) > 8_000_000 {
		t.Errorf("%d bytes", len(page))
	}
	text := textOf(parsed(t, page))
	for _, want := range []string{"100 paths with the most time. There are 49,900 more.", "And 160 more stages.", "960 more", "980 more", "And 950 more decisions.", "And 900 more."} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestWriteFails(t *testing.T) {
	want := errors.New("disk full")
	if err := Write(failing{want}, example()); !errors.Is(err, want) {
		t.Errorf("Write = %v, want %v", err, want)
	}
}

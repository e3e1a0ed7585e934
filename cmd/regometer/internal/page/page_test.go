// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

var (
	update = flag.Bool("update", false, "write docs/report/example.html")
	pages  = flag.String("pages", "", "write the pages of the tests into this `folder`")
)

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
	root, err := html.Parse(bytes.NewReader(bytes.ReplaceAll(page, []byte("<wbr>"), nil)))
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

// sectionOf returns the section whose heading begins so.
func sectionOf(t *testing.T, root *html.Node, heading string) *html.Node {
	t.Helper()
	for s := range elements(root, "section") {
		if strings.HasPrefix(textOf(s.FirstChild.NextSibling), heading) {
			return s
		}
	}
	t.Fatalf("no section %q", heading)
	return nil
}

// words returns the text of a section in one line.
func words(t *testing.T, root *html.Node, heading string) string {
	t.Helper()
	return strings.Join(strings.Fields(textOf(sectionOf(t, root, heading))), " ")
}

// The page in the documentation is the one that is written.
func TestExample(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("floating-point numbers may be rounded otherwise here")
	}
	file := filepath.Join("..", "..", "..", "..", "docs", "report", "example.html")
	page := written(t, example(t))
	if *update {
		if err := os.WriteFile(file, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, page) {
		t.Error("docs/report/example.html is not what is written now; run: go test ./cmd/regometer/internal/page -run TestExample -update")
	}
	if len(page) > 300_000 {
		t.Errorf("the example has %d bytes", len(page))
	}
}

// Each page has all sections, findings first; no element that can refer to
// anything or run; no character that hides or turns others; and charts.
func TestPages(t *testing.T) {
	for name, report := range reports {
		t.Run(name, func(t *testing.T) {
			page := written(t, report(t))
			if *pages != "" {
				if err := os.WriteFile(filepath.Join(*pages, name+".html"), page, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			root := parsed(t, page)
			checkSections(t, root)
			checkElements(t, root)
			if !utf8.Valid(page) {
				t.Error("the page is not UTF-8")
			}
			checkText(t, root)
			checkCharts(t, root, name)
		})
	}
}

func checkSections(t *testing.T, root *html.Node) {
	var got []string
	for s := range elements(root, "section") {
		heading := s.FirstChild.NextSibling
		if heading.Data != "h2" || len(strings.Fields(textOf(s))) < 4 {
			t.Errorf("a section begins with %q and has text %q", heading.Data, textOf(s))
		}
		got = append(got, strings.Fields(textOf(heading))[0])
	}
	if all := strings.Join(got, " "); !regexp.MustCompile(`^Findings Key Latency Outcomes Stages (Evaluation, )?Overview (Decisions )?(Slowest )?Input$`).MatchString(all) {
		t.Errorf("sections %s", all)
	}
}

// allowed are the elements of a page, each with its attributes.
var allowed = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "",
	"header": "", "main": "", "footer": "class", "section": "", "h1": "", "h2": "", "p": "class", "b": "", "i": "class",
	"bdi": "", "code": "", "pre": "", "ul": "class", "li": "class", "dl": "class", "dt": "", "dd": "class",
	"div": "class tabindex role aria-label", "span": "class", "figure": "class", "figcaption": "",
	"table": "", "thead": "", "tbody": "", "tr": "", "th": "scope class", "td": "class", "details": "", "summary": "",
	"svg": "viewBox role aria-label", "path": "d class",
	"text": "x y class font-size text-anchor",
}

func checkElements(t *testing.T, root *html.Node) {
	var styles, policies []string
	tables := map[string]bool{}
	for n := range elements(root, "") {
		if label := attribute(n, "aria-label"); attribute(n, "role") == "region" {
			if tables[label] {
				t.Errorf("two tables are called %q", label)
			}
			tables[label] = true
		}
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
}

func checkText(t *testing.T, root *html.Node) {
	for n := range root.Descendants() {
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
}

// checkCharts checks that each chart is an image with a text in its place,
// scales, and has only colours of the style sheet.
func checkCharts(t *testing.T, root *html.Node, name string) {
	plots := 0
	for svg := range elements(root, "svg") {
		plots++
		if attribute(svg, "role") != "img" || !strings.HasPrefix(attribute(svg, "viewBox"), "0 0 ") || svg.Namespace != "svg" {
			t.Errorf("a plot %v", svg.Attr)
		}
		text := attribute(svg, "aria-label")
		if len(text) < 30 || !strings.ContainsAny(text, "0123456789") {
			t.Errorf("a plot's text has no figure: %q", text)
		}
		for n := range svg.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			for class := range strings.FieldsSeq(attribute(n, "class")) {
				if !strings.Contains(styleText, "."+class+" {") {
					t.Errorf("the style sheet has no class %s of <%s>", class, n.Data)
				}
			}
			for _, name := range []string{"x", "y", "d"} {
				if value := attribute(n, name); strings.Contains(value, "NaN") || strings.Contains(value, "Inf") {
					t.Errorf("<%s> has %s %q", n.Data, name, value)
				}
			}
		}
	}
	if nothing := []string{"empty", "timeless", "unfinished"}; plots < 4 && !slices.Contains(nothing, name) {
		t.Errorf("%d plots, want at least 4", plots)
	}
}

// TestNothingToShow: what a report lacks is said in words.
func TestNothingToShow(t *testing.T) {
	for report, want := range map[string]map[string]string{
		"empty":      {"Findings": "There are no decisions.", "Latency": "No decision has both", "Outcomes": "No decision has a time", "Input": "0 decisions"},
		"timeless":   {"Latency": "No decision has both", "Outcomes": "No decision has a time"},
		"unfinished": {"Latency": "No decision has both", "Stages": "server_handler 0 % 0 – –"},
	} {
		root := parsed(t, written(t, reports[report](t)))
		for section, want := range want {
			if got := words(t, root, section); !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q", report, section, got, want)
			}
		}
	}
}

// TestHostileTexts: what a log has is shown as it is, as text, everywhere.
func TestHostileTexts(t *testing.T) {
	root := parsed(t, written(t, hostile(t)))
	// Some are not in plots, which show but a few stages and groups.
	for heading, length := range map[string]int{"Findings": findingLength, "Slowest": nameLength, "Evaluation": nameLength, "Input": nameLength, "Stages": nameLength, "Decisions": nameLength} {
		all := words(t, root, heading)
		for _, hostile := range hostileTexts {
			if heading == "Slowest" || heading == "Input" {
				hostile = strings.NewReplacer("1 ns ", "").Replace(hostile)
			}
			want := strings.Join(strings.Fields(text.Fit(hostile, min(length, 20))), " ")
			if want, _, _ = strings.Cut(want, "…"); !strings.Contains(all, want) {
				t.Errorf("%s: no %q", heading, want)
			}
		}
	}
}

// The page has the figures of the report.
func TestNumbers(t *testing.T) {
	r := example(t)
	root := parsed(t, written(t, r))
	requireRow := func(section string, want ...string) {
		t.Helper()
		for row := range elements(sectionOf(t, root, section), "tr") {
			var cells []string
			for c := range row.ChildNodes() {
				cells = append(cells, strings.ReplaceAll(strings.TrimSpace(textOf(c)), "\u00a0", " "))
			}
			if slices.Equal(cells, want) {
				return
			}
		}
		t.Errorf("%s has no row %q", section, want)
	}
	g := r.Groups.At(0)
	row := []string{g.Key, text.Count(g.Decisions)}
	for o, n := range g.Outcomes {
		if r.Total.Outcomes[o] > 0 {
			row = append(row, text.Percent(report.Ratio(n, g.Decisions)))
		}
	}
	row = append(row, text.Percent(report.Share(g.Time, r.Total.Time)))
	requireRow("Overview", append(row, report.Quantiles(report.Outermost(g.Stages))...)...)
	for _, v := range r.Revisions {
		requireRow("Evaluation", append([]string{v.Name, text.Time(v.First, text.ToTheSecond), text.Time(v.Last, text.ToTheSecond),
			text.Count(v.Evaluation.Durations.Count())}, report.Quantiles(&v.Evaluation)...)...)
	}
	for section, want := range map[string]string{
		"Key":       fmt.Sprintf("Decisions %s 6 groups by path", text.Count(r.Total.Decisions)),
		"Slowest":   r.Slowest[4].ID,
		"Input":     "truncated 1 -:20002 .",
		"Stages":    "rego_query_eval 59.1 % 20,000 97.2 µs",
		"Decisions": "with another result",
	} {
		if got := strings.ReplaceAll(words(t, root, section), "\u00a0", " "); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", section, got, want)
		}
	}
}

// Two times of a day have one date.
func TestBetween(t *testing.T) {
	for to, want := range map[int64]string{86399e9: "1970-01-01 00:00:00 to 23:59:59 UTC", 86400e9: "1970-01-01 00:00:00 to 1970-01-02 00:00:00 UTC"} {
		if got := between(0, to); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A number and its unit are never on two lines.
func TestUnits(t *testing.T) {
	if got, want := shown("12.3 µs, 5 %, 7 days and 1.2 MB.", 100), "12.3\u00a0µs, 5\u00a0%, 7 days and 1.2\u00a0MB."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Findings have their subjects and times. There is a table of the servers and one
// of the clients, first those that findings name, and it says where no decision
// could be allowed.
func TestWho(t *testing.T) {
	var log strings.Builder
	for i, result := range []string{"true", "false", "[]", "[]", "[]", "[]"} {
		fmt.Fprintf(&log, `{"decision_id":"%d","path":"p%.1s","timestamp":"2026-03-02T22:00:%02dZ","result":%s,"requested_by":"10.0.0.%d:1",`+
			`"labels":{"id":"i%d","pod":"pod-%[6]d"}}`+"\n", i, result, 10*i, result, i%3, i/2%2)
	}
	for i := range 60 {
		fmt.Fprintf(&log, `{"decision_id":"x%d","path":"p[","result":[],"requested_by":"10.0.1.%[1]d:1"}`+"\n", i)
	}
	r := reportOf(t, log.String())
	r.Findings = []report.Finding{
		{Rule: "r1", Text: "one.", Server: "pod-1", From: "2026-03-02T22:00:20Z", To: "2026-03-02T22:00:40Z"},
		{Rule: "r2", Severity: report.Info, Text: "two.", Client: "10.0.0.2", From: "2026-03-02T22:00:00Z", To: "2026-03-02T22:00:50Z"},
	}
	root := parsed(t, written(t, r))
	for heading, want := range map[string]string{
		"Findings": "1. r1 server pod-1 2026-03-02 22:00:20 to 22:00:40 UTC one. 2. r2 (info) client 10.0.0.2 two.",
		"Servers": "another result pod-1 (id i1) 1 2026-03-02 22:00:20 2026-03-02 22:00:30 2 – – 100 % " +
			"pod-0 (id i0) – 2026-03-02 22:00:00 2026-03-02 22:00:50 4 25.0 % 25.0 % 50.0 %",
		"Clients":  "another result 10.0.0.2 2 2026-03-02 22:00:20 2026-03-02 22:00:50 2 – – 100 % 10.0.0.0 – …And 43 more rows.",
		"Overview": "p[ 64 – – 100 % 0 %",
	} {
		for part := range strings.SplitSeq(want, "…") {
			if got := words(t, root, heading); !strings.Contains(got, part) {
				t.Errorf("%s: %q, want %q", heading, got, part)
			}
		}
	}
}

// The page of a report of any size is not large.
func TestSize(t *testing.T) {
	r := manyGroups(t, 1)
	g := *r.Groups.At(0)
	r.Slowest, g.Stages = nil, g.Stages[:1]
	for i := range 1000 {
		name := fmt.Sprint(i, strings.Repeat("<", 1000))
		stage := g.Stages[0]
		stage.Name = name
		g.Stages = append(g.Stages, stage)
		g.Counters = append(g.Counters, groupby.Counter{Name: name, Total: groupby.Sum{Lo: 1}})
		g.Errors = append(g.Errors, stages.ErrorTotal{Code: name, Total: 1})
		place := report.Place{File: name, Line: 1}
		r.Findings = append(r.Findings, report.Finding{Rule: name, Text: strings.Repeat(name, 10)})
		r.Inputs.Problems = append(r.Inputs.Problems, report.Problem{Kind: logread.Problem(name), First: slices.Repeat([]report.Place{place}, 5)})
		r.Revisions = append(r.Revisions, report.Revision{Name: name})
		r.Slowest = append(r.Slowest, report.SlowDecision{Key: name, ID: name, Place: place})
	}
	r.Groups = report.GroupsOf(slices.Repeat([]report.Group{g}, 50_000)...)
	r.Total = g
	page := written(t, r)
	if len(page) > 8_000_000 {
		t.Errorf("%d bytes", len(page))
	}
	text := textOf(parsed(t, page))
	for _, want := range []string{"Not shown: 49,900 of 50,000 groups.", "And 961 more rows.", "And 900 more."} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// Text stands out from the page as WCAG 2 asks of text (4.5), and what one has
// to find in a chart as it asks of graphics (3). Each colour of a chart is
// there for light and for dark pages.
func TestContrast(t *testing.T) {
	declaration := regexp.MustCompile(`--(\w+): (#[0-9a-f]+);`)
	for i, scheme := range strings.SplitN(styleText, "@media screen", 2) {
		colours := map[string]float64{}
		for _, m := range declaration.FindAllStringSubmatch(scheme, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for name, least := range map[string]float64{"text": 7, "axis": 4.5, "p50": 3, "p99": 3, "error": 3, "denied": 3, "allowed": 3} {
			for _, below := range []string{"page", "panel"} {
				a, b := colours[name], colours[below]
				if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); got < least && (below == "page" || least > 3) {
					t.Errorf("scheme %d: %s on %s has a contrast of %.2f, want %v", i, name, below, got, least)
				}
			}
		}
		for _, m := range regexp.MustCompile(`\.i-\w+ \{ --ink: var\(--(\w+)\); \}`).FindAllStringSubmatch(styleText, -1) {
			if _, ok := colours[m[1]]; !ok {
				t.Errorf("scheme %d has no colour %s", i, m[1])
			}
		}
	}
}

// luminance returns the relative luminance of WCAG.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

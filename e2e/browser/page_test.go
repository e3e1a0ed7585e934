// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A screen is what a page is looked at on.
type screen struct {
	name, media, scheme string
	width               int64
}

var screens = []screen{
	{"360-light", "screen", "light", 360},
	{"360-dark", "screen", "dark", 360},
	{"1440-light", "screen", "light", 1440},
	{"1440-dark", "screen", "dark", 1440},
	{"print", "print", "light", 680},
}

// TestPage opens the pages of the reports that the tests of package page have,
// hostile ones among them.
func TestPage(t *testing.T) {
	browser := chromium()
	if browser == "" {
		t.Skip("NOT RUN: there is no Chromium on PATH, and REGOMETER_CHROMIUM names none; many systems have it as the package chromium")
	}
	pages := writePages(t)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox)...) // the sandbox does not start in containers
	defer cancel()
	started, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(started); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, s := range screens {
			name := strings.TrimSuffix(filepath.Base(page), ".html")
			t.Run(name+"/"+s.name, func(t *testing.T) { look(started, t, page, s, name) })
		}
	}
}

// writePages returns the paths of the pages.
func writePages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count", "1", "-run", "^TestPages$", ".", "-args", "-pages", dir)
	cmd.Dir = filepath.Join("..", "..", "internal", "app", "page")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("writing the pages: %v\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 5 {
		t.Fatalf("only %d pages", len(pages))
	}
	return pages
}

// A sight is what a page looks like, as script tells.
type sight struct {
	Title, Findings, Background, Width string
	ScrollWidth, ClientWidth           int
	Outside                            []string // what is not in the place that is meant for it
	Unreadable                         []string // text in plots that is too small
}

// script looks at a page.
const script = `(() => {
	const page = document.documentElement, body = getComputedStyle(document.body)
	const shown = e => e.getClientRects().length > 0
	const outside = [], unreadable = []
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest(".scroll, svg") && !e.matches(".scroll, svg")) continue
		if (shown(e) && e.getBoundingClientRect().right > page.clientWidth + 0.5) outside.push(e.outerHTML.slice(0, 200))
	}
	for (const e of document.querySelectorAll("svg text")) {
		if (!shown(e)) continue
		const text = e.getBoundingClientRect(), plot = e.closest("svg").getBoundingClientRect()
		if (text.left < plot.left - 3 || text.right > plot.right + 3 || text.top < plot.top - 3 || text.bottom > plot.bottom + 3)
			outside.push("text in a plot: " + e.textContent)
		const height = parseFloat(e.getAttribute("font-size")) * plot.width / e.closest("svg").viewBox.baseVal.width
		if (height < 8) unreadable.push(height + " px: " + e.textContent)
	}
	return {
		Title: document.title, Findings: document.querySelector("#findings").innerText, Background: body.backgroundColor,
		Width: body.maxWidth, ScrollWidth: page.scrollWidth, ClientWidth: page.clientWidth, Outside: outside, Unreadable: unreadable,
	}
})()`

// look opens a page on a screen of its own, and checks that it is whole, asks
// for nothing, complains of nothing and fits the screen.
func look(browser context.Context, t *testing.T, page string, s screen, name string) {
	tab, cancel := chromedp.NewContext(browser)
	defer cancel()
	tab, cancel = context.WithTimeout(tab, time.Minute)
	defer cancel()

	address := "file://" + filepath.ToSlash(page)
	var mutex sync.Mutex
	var complaints []string
	if err := chromedp.Listen(tab, func(event any) {
		mutex.Lock()
		defer mutex.Unlock()
		switch event := event.(type) {
		case *log.EventEntryAdded:
			complaints = append(complaints, event.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			complaints = append(complaints, "console."+string(event.Type))
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, event.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			if event.Request.URL != address {
				complaints = append(complaints, "a request for "+event.Request.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	call(tab, t, log.Enable, cdp.Empty{})
	call(tab, t, network.Enable, network.EnableParams{})
	call(tab, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: 900, DeviceScaleFactor: 1, Mobile: s.width < 500})
	call(tab, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: s.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
	if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	picture := run(tab, t, chromedp.FullScreenshot(100))
	saw := run(tab, t, chromedp.Evaluate[sight](script))
	run(tab, t, chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => d.open = true)`))
	opened := run(tab, t, chromedp.Evaluate[sight](script))
	if dir := os.Getenv("REGOMETER_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+"-"+s.name+".png"), picture, 0o666); err != nil {
			t.Fatal(err)
		}
	}

	mutex.Lock()
	defer mutex.Unlock()
	for _, c := range complaints {
		t.Errorf("the browser complains: %s", c)
	}
	if !strings.HasPrefix(saw.Title, "OPA decisions") {
		t.Errorf("the title is %q: something ran", saw.Title)
	}
	if want := findings[name]; !strings.Contains(saw.Findings, want) {
		t.Errorf("the findings are %q, want %q among them", saw.Findings, want)
	}
	wantBackground := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}[s.scheme]
	if saw.Background != wantBackground || s.media == "screen" && saw.Width != "1180px" {
		t.Errorf("background %s, width %s: the style sheet is not in force", saw.Background, saw.Width)
	}
	for state, saw := range map[string]sight{"closed": saw, "open": opened} {
		if saw.ScrollWidth > saw.ClientWidth {
			t.Errorf("details %s: the document is %d pixels wide, the window %d", state, saw.ScrollWidth, saw.ClientWidth)
		}
		for _, o := range saw.Outside {
			t.Errorf("details %s: it juts out: %s", state, o)
		}
		for _, u := range saw.Unreadable {
			t.Errorf("details %s: too small: %s", state, u)
		}
	}
}

// run runs an action in a tab.
func run[T any](tab context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	result, err := chromedp.Run(tab, action)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// call runs a command of the browser's protocol in a tab.
func call[P, R any](tab context.Context, t *testing.T, command cdp.Command[P, R], parameters P) {
	t.Helper()
	if _, err := chromedp.Call(tab, command, parameters); err != nil {
		t.Fatal(err)
	}
}

// findings is what the pages have to say.
var findings = map[string]string{
	"example": "Since bundle revision 2026-03-03.1, evaluation takes longer",
	"hostile": `<script>document.title="owned"</script>`,
	"empty":   "Nothing stands out.",
}

// chromium returns the browser to test with, or "" if there is none.
func chromium() string {
	if path := os.Getenv("REGOMETER_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A screen is a size and a style of a browser's window.
type screen struct {
	name, media, scheme string
	width               int64
}

var screens = []screen{
	{"360", "screen", "dark", 360},
	{"1440", "screen", "light", 1440},
	{"print", "print", "light", 680},
}

// TestPage opens the pages of the reports in the tests of package page, also of
// a hostile one.
func TestPage(t *testing.T) {
	pages := writePages(t)
	browser := os.Getenv("REGOMETER_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		t.Skip("NOT RUN: put Chromium on PATH, or set REGOMETER_CHROMIUM to its path; many systems have the package chromium")
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser), chromedp.NoSandbox)...) // the sandbox does not start in containers
	defer cancel()
	started, cancel := chromedp.NewContext(allocator)
	defer cancel()
	require.NoError(t, chromedp.Do(started))
	for _, page := range pages {
		for _, s := range screens {
			name := strings.TrimSuffix(filepath.Base(page), ".html")
			t.Run(name+"/"+s.name, func(t *testing.T) { look(started, t, page, s, name) })
		}
	}
}

// writePages lets a test of package page write its pages, and returns their
// paths.
func writePages(t *testing.T) []string {
	dir := t.TempDir()
	run(t, filepath.Join(root, "cmd", "regometer", "internal", "page"), nil, "go", "test", "-run", "^TestPages$", ".", "-args", "-pages", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(pages), 5)
	return pages
}

// A sight is the look of a page, which script returns.
type sight struct {
	Title, Findings, Background, Width string
	ScrollWidth, ClientWidth           int
	Outside                            []string // elements outside of the window, text outside of its plot
	Unreadable                         []string // small text in plots
}

// script examines a page.
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
		Title: document.title, Findings: document.querySelector("section").innerText, Background: body.backgroundColor,
		Width: body.maxWidth, ScrollWidth: page.scrollWidth, ClientWidth: page.clientWidth, Outside: outside, Unreadable: unreadable,
	}
})()`

// look opens a page on a screen. The page must be complete and fit the screen,
// and cause neither requests nor messages.
func look(browser context.Context, t *testing.T, page string, s screen, name string) {
	tab, cancel := chromedp.NewContext(browser)
	defer cancel()
	tab, cancel = context.WithTimeout(tab, time.Minute)
	defer cancel()

	address := "file://" + filepath.ToSlash(page)
	var mutex sync.Mutex
	var complaints []string
	require.NoError(t, chromedp.Listen(tab, func(event any) {
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
	}))
	call(tab, t, log.Enable, cdp.Empty{})
	call(tab, t, network.Enable, network.EnableParams{})
	call(tab, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: 900, DeviceScaleFactor: 1, Mobile: s.width < 500})
	call(tab, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: s.media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(address)))
	picture := do(tab, t, chromedp.FullScreenshot(100))
	saw := do(tab, t, chromedp.Evaluate[sight](script))
	do(tab, t, chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => d.open = true)`))
	opened := do(tab, t, chromedp.Evaluate[sight](script))
	if dir := os.Getenv("REGOMETER_SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+"-"+s.name+".png"), picture, 0o666))
	}

	mutex.Lock()
	defer mutex.Unlock()
	assert.Empty(t, complaints, "messages of the browser")
	assert.Regexp(t, "^OPA decisions", saw.Title, "a script has changed the title")
	assert.Contains(t, saw.Findings, findings[name])
	// The style sheet is in force.
	assert.Equal(t, map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}[s.scheme], saw.Background)
	if s.media == "screen" {
		assert.Equal(t, "1180px", saw.Width)
	}
	for state, saw := range map[string]sight{"closed": saw, "open": opened} {
		assert.LessOrEqual(t, saw.ScrollWidth, saw.ClientWidth, "width of the document and of the window, details %s", state)
		assert.Empty(t, saw.Outside, "parts outside of their place, details %s", state)
		assert.Empty(t, saw.Unreadable, "text that is too small, details %s", state)
	}
}

// do runs an action in a tab.
func do[T any](tab context.Context, t *testing.T, action chromedp.Action[T]) T {
	result, err := chromedp.Run(tab, action)
	require.NoError(t, err)
	return result
}

// call runs a command of the browser's protocol in a tab.
func call[P, R any](tab context.Context, t *testing.T, command cdp.Command[P, R], parameters P) {
	_, err := chromedp.Call(tab, command, parameters)
	require.NoError(t, err)
}

// findings are parts of the pages' findings.
var findings = map[string]string{
	"example": "beginning with bundle revision authz=2026-03-03.1, the",
	"hostile": `<script>document.title="owned"</script>`,
	"empty":   "There are no decisions.",
}

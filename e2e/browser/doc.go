// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser opens the page of a report in a real browser. It has only a
// test, which needs Chromium or Chrome on PATH, or its path in
// REGOMETER_CHROMIUM:
//
//	go test ./browser
//
// If REGOMETER_SCREENSHOTS is a folder, the test writes pictures of the pages
// there. If REGOMETER_AXE is the path of axe.min.js of axe-core, the test looks
// for barriers to people who use a keyboard or a screen reader.
package browser

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser opens the page of a report in a real browser. It holds
// nothing but a test, which runs if Chromium or Chrome is on PATH, or if
// REGOMETER_CHROMIUM is its path:
//
//	go test ./browser
//
// If REGOMETER_SCREENSHOTS is a folder, pictures of the pages are put there.
package browser

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser opens the page of a report in a real browser. It has only a
// test, which needs Chromium or Chrome on PATH, or its path in
// REGOMETER_CHROMIUM:
//
//	go test ./browser
//
// If REGOMETER_SCREENSHOTS is a folder, the test writes pictures of the pages
// there.
package browser

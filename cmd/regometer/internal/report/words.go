// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// name returns a name from a log for the text of a finding, with at most 80
// letters.
func name(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "`", "'")
	if s == "" {
		return text.Empty
	}
	if letters := []rune(s); len(letters) > 80 {
		s = string(letters[:39]) + "…" + string(letters[len(letters)-40:])
	}
	return "`" + s + "`"
}

// listed writes the first three things, and says how many more there are.
func listed[T any](all []T, write func(T) string) string {
	var some []string
	for _, v := range all[:min(3, len(all))] {
		some = append(some, write(v))
	}
	list := strings.Join(some, ", ")
	if more := len(all) - len(some); more > 0 {
		list += fmt.Sprintf(" and %s more", text.Count(more))
	}
	return list
}

// ListNames writes the first three names of a log for prose, and says how many
// more there are.
func ListNames(names []string) string { return listed(names, name) }

func at(ns int64) string { return text.Time(ns, text.ToTheSecond) }

// second returns the second of a time.
func second(ns int64) time.Time { return time.Unix(0, ns).Truncate(time.Second) }

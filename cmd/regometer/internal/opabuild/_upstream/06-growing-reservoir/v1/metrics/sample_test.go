// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

func TestExpDecaySampleGrows(t *testing.T) {
	s := newExpDecaySample(1028, 0.015)
	if got := cap(s.values); got > 16 {
		t.Errorf("expected room for at most 16 values, got %d", got)
	}
	for i := range int64(2000) {
		s.Update(i)
	}
	if got := len(s.values); got != 1028 {
		t.Errorf("expected 1028 values, got %d", got)
	}
	if s := newExpDecaySample(2, 0.015); cap(s.values) != 2 {
		t.Errorf("expected room for 2 values, got %d", cap(s.values))
	}
}

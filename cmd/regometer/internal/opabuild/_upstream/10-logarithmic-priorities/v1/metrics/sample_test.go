// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// However long nothing was recorded, new values replace old ones.
func TestExpDecaySampleIdle(t *testing.T) {
	const size = 10
	s := newExpDecaySample(size, 0.015)
	now := s.t0
	for range 200 {
		for v := range int64(3) {
			for range []int{10, 5, 5}[v] {
				s.update(now, v)
			}
			now = now.Add(20 * time.Hour)
		}
		_, values := s.snapshot()
		slices.Sort(values)
		if exp := []int64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}; !slices.Equal(values, exp) {
			t.Fatalf("expected %v, got %v", exp, values)
		}
	}
}

// A full sample does not keep a value merely because it is the newest.
func TestExpDecaySampleNewest(t *testing.T) {
	const size, updates, rounds = 10, 100, 4000
	kept := 0
	for range rounds {
		s := newExpDecaySample(size, 0.015)
		for v := range int64(updates) {
			s.update(s.t0, v)
		}
		_, values := s.snapshot()
		if slices.Contains(values, updates-1) {
			kept++
		}
	}
	// All values are equally likely, so that about 400 are expected, with a
	// standard deviation of 19.
	if kept < 280 || kept > 520 {
		t.Errorf("expected the newest value in about %d of %d samples, got %d", rounds*size/updates, rounds, kept)
	}
}

// A value that is newer by ln(2)/alpha, 46.21 s, has twice the weight. Of it and
// three older ones, it has the highest priority if 2/u > 1/v for each of the
// three v: that is the integral of (1-u/2)^3 from 0 to 1, in 15 of 32 cases.
func TestExpDecaySampleBias(t *testing.T) {
	const rounds = 6400
	newer := 0
	for range rounds {
		s := newExpDecaySample(1, 0.015)
		for range 3 {
			s.update(s.t0, 0)
		}
		s.update(s.t0.Add(46210*time.Millisecond), 1)
		if _, values := s.snapshot(); values[0] == 1 {
			newer++
		}
	}
	// 3000, with a standard deviation of 40
	if exp := rounds * 15 / 32; newer < exp-200 || newer > exp+200 {
		t.Errorf("expected the newer value to be kept in about %d of %d samples, got %d", exp, rounds, newer)
	}
}

// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// This program runs short programs in which two or three goroutines share a
// timer. It runs each one in every order in which the steps can happen. It
// fails at the first order whose calls return results that no sequence of these
// calls could have returned. Its timer.go is a copy of timer.go in package
// metrics, except for the imports.
package main

import (
	"fmt"
	"iter"
	"os"

	"interleave/step"
)

// timer.go also refers to Kind and KindTimer.
type Kind int

const KindTimer Kind = 0

// A call is one call of a method of the timer.
type call struct {
	method      string
	first, last int64 // the numbers of its first and last step
	began       int64 // the clock before its first step
	result      int64
}

// do makes the call.
func (c *call) do(t *timer) {
	c.first, c.began, c.result = 0, step.Count, 0
	switch c.method {
	case "Start":
		t.Start()
	case "Stop":
		c.result = t.Stop()
	case "Int64":
		c.result = t.Int64()
	}
	c.last = step.Count
}

// couldBe reports whether some sequence of the calls that are not done yet
// returns their results. The timer holds sum. start is the Start that it runs
// from, or nil if it is not running. A call that began after another one had
// ended must come after that one.
func couldBe(calls []*call, done uint, start *call, sum int64) bool {
	if done == 1<<len(calls)-1 {
		return true
	}
next:
	for i, c := range calls {
		if done>>i&1 != 0 {
			continue
		}
		for j, before := range calls {
			if done>>j&1 == 0 && before.last < c.first {
				continue next
			}
		}
		start, sum := start, sum
		switch c.method {
		case "Start":
			start = c
		case "Stop":
			least, most := int64(0), int64(0)
			if start != nil {
				least, most = max(c.began-start.last, 1), c.last-start.began
			}
			if c.result < least || c.result > most {
				continue
			}
			start, sum = nil, sum+c.result
		case "Int64":
			if c.result != sum {
				continue
			}
		}
		if couldBe(calls, done|1<<i, start, sum) {
			return true
		}
	}
	return false
}

// A program is a list of calls for one goroutine, and then lists for several
// goroutines that run at the same time. At the end, one goroutine reads the
// timer.
type program struct {
	before     []string
	goroutines [][]string
}

// run runs the program in every order, and returns the number of orders.
func (p program) run() (orders int) {
	t := new(timer)
	var calls []*call
	var current *call // the call that takes the step
	list := func(methods []string) (list []*call) {
		for _, m := range methods {
			list = append(list, &call{method: m})
		}
		calls = append(calls, list...)
		return list
	}
	count := func() {
		step.Count++
		if current.first == 0 {
			current.first = step.Count
		}
	}
	alone := func(calls []*call) {
		step.Next = count
		for _, c := range calls {
			current = c
			c.do(t)
		}
	}

	// A goroutine is a coroutine here. It makes its calls again and again. It
	// stops before each step and after its last call.
	type goroutine struct {
		resume func() (ended, ok bool)
		wait   func()
		ended  bool
	}
	goroutines := make([]*goroutine, len(p.goroutines))
	before := list(p.before)
	for i, methods := range p.goroutines {
		g, calls := new(goroutine), list(methods)
		goroutines[i] = g
		resume, stop := iter.Pull(func(yield func(ended bool) bool) {
			var own *call
			g.wait = func() {
				yield(false)
				current = own
				count()
			}
			for {
				for _, own = range calls {
					own.do(t)
				}
				if !yield(true) {
					return
				}
			}
		})
		defer stop()
		g.resume = resume
	}
	after := list([]string{"Int64"})

	// An order says which of the ready goroutines takes each step. The next
	// order differs in the last step that another ready goroutine can take.
	type choice struct{ taken, of int }
	var order []choice
	var ready []*goroutine
	for {
		*t, step.Count = timer{}, 0
		alone(before)
		var running *goroutine
		step.Next = func() { running.wait() }
		advance := func(g *goroutine) {
			running = g
			g.ended, _ = g.resume()
		}
		for _, g := range goroutines {
			advance(g) // up to its first step
		}
		for at := 0; ; at++ {
			ready = ready[:0]
			for _, g := range goroutines {
				if !g.ended {
					ready = append(ready, g)
				}
			}
			if len(ready) == 0 {
				break
			}
			if at == len(order) {
				order = append(order, choice{0, len(ready)})
			}
			advance(ready[order[at].taken])
		}
		alone(after)
		orders++
		if !couldBe(calls, 0, nil, 0) {
			fmt.Println("No sequence of these calls returns these results:")
			p.print(calls)
			os.Exit(1)
		}
		for len(order) > 0 && order[len(order)-1].taken+1 == order[len(order)-1].of {
			order = order[:len(order)-1]
		}
		if len(order) == 0 {
			return orders
		}
		order[len(order)-1].taken++
	}
}

func (p program) print(calls []*call) {
	print := func(who string, n int) {
		for _, c := range calls[:n] {
			fmt.Printf("%s: %s returns %d, steps %d to %d\n", who, c.method, c.result, c.first, c.last)
		}
		calls = calls[n:]
	}
	print("before", len(p.before))
	for i, methods := range p.goroutines {
		print(fmt.Sprint("goroutine ", i+1), len(methods))
	}
	print("after", len(calls))
}

// sequences returns all sequences of n calls.
func sequences(n int) (all [][]string) {
	if n == 0 {
		return [][]string{nil}
	}
	for _, s := range sequences(n - 1) {
		for _, m := range []string{"Start", "Stop", "Int64"} {
			all = append(all, append(s[:len(s):len(s)], m))
		}
	}
	return all
}

func main() {
	programs, orders := 0, 0
	run := func(goroutines ...[]string) {
		for _, before := range [][]string{nil, {"Start"}, {"Start", "Stop"}} {
			orders += program{before, goroutines}.run()
			programs++
		}
	}
	ones, twos, threes := sequences(1), sequences(2), sequences(3)
	for _, a := range ones {
		for _, b := range threes {
			run(a, b)
		}
		run(a, []string{"Start"}, []string{"Stop"})
	}
	for i, a := range twos {
		for _, b := range twos[i:] {
			run(a, b)
		}
	}
	fmt.Printf("%d programs, %d orders\n", programs, orders)
}

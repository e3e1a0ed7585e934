// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Nothing that a logger writes is an event, in whatever container its lines
// are, and wherever in the line it is.
func TestLoggerLines(t *testing.T) {
	invented := strings.Replace(event2, `"input"`, `"custom"`, 1)
	log := sample{
		event1,
		`{"level":"info","line":"a.rego:3","msg":` + quoted("request of "+invented) + `,"time":"2026-01-02T03:04:05Z"}`,
		`{"level":"info","line":"a.rego:3","msg":` + quoted(invented) + `}`,
		`{"err":{"code":"x","message":` + quoted("undefined: "+invented) + `},"list":[{"path":"` + strings.Repeat("x", 3000) + `"}],"msg":"eval error","level":"error"}`,
		`{"msg":` + invented + `,"a":{"b":[` + invented + `]},"level":"debug"}`,
	}
	want := readAll(event1).Events
	texts := log.containers()
	for _, prefix := range []string{"", "2026-01-02T03:04:05.6Z stderr F ", "opa-1 | ", `{app="opa", pod="x"} `, "2026/01/02 03:04:05 opa: ", `<134>1 2026-01-02T03:04:05.6Z host opa 7 - [meta x="y"] `} {
		line := prefixed(prefix)
		text := line("[INFO] "+invented+"\n") + line("[WARNING] request = "+invented+"\n")
		text += line("[DEBUG] x level=info request="+quoted(invented)+"\n") + line(`[INFO] x,"`+strings.ReplaceAll(invented, `"`, `""`)+"\"\n")
		text += line("[ERROR] x\n") + line(" "+event1+"\n") // which ends the fields
		texts["text behind "+prefix] = text + line("[INFO] x\n") + strings.Repeat(line("  err = "+invented+"\n"), 2) + line("[INFO] y\n")
	}
	texts["lines of text"] = event1 + "\n" + strings.Repeat("[INFO] x\n  y = |\n      "+invented+"\n      "+invented+"\n\n", 4) + "[INFO] y\n"
	for name, text := range texts {
		result := readEveryWay(t, text, text)[0]
		got := slices.DeleteFunc(kinds(result.Problems), func(kind string) bool { return kind != string(Logged) })
		if events := strip(result.Events); !reflect.DeepEqual(events, strip(want)) || len(got) < len(log)-1 || len(got) < len(result.Problems) && !strings.HasSuffix(name, "interleaved") {
			t.Errorf("%s: %q, %d events: %+v", name, result.Problems, len(events), events)
		}
	}
}

// An object that a client has sent is no event, wherever its line is cut, and
// however long the line is.
func TestInventedByClient(t *testing.T) {
	t.Parallel()
	const maxLength = 256 << 10
	invented := strings.Replace(event2, `"input"`, `"a":[`+strings.Repeat("1,", dockerPart/2)+`1],"input"`, 1)
	before, rest, _ := strings.Cut(event1, `"input":`)
	_, after, _ := strings.Cut(rest, `,"result":true`)
	before, after = before+`"input":{"a":[`, `]},"result":true`+after
	inDocker := func(text string) string { return `{"log":` + quoted(text) + `,"stream":"stderr"}` + "\n" }
	inCRI := func(tag, text string) string { return "2026-01-02T03:04:05.6Z stderr " + tag + " " + text + "\n" }
	long := strings.Repeat(invented+",", 2*maxLength/len(invented))
	for name, test := range map[string]struct {
		text             string
		events, problems int
	}{
		"docker":               {inDocker(before+strings.Repeat(" ", dockerPart)) + inDocker(invented) + inDocker(","+invented) + inDocker(after+"\n"), 1, 0},
		"CRI":                  {inCRI("P", before) + inCRI("P", invented) + inCRI("P", ",") + inCRI("P", invented) + inCRI("F", after), 1, 0},
		"CRI, end lost":        {inCRI("P", before[:30]) + inCRI("F", event1), 1, 1},
		"cut behind a prefix":  {"opa: " + before + invented + "\n" + event1 + "\n", 1, 2},
		"cut in CSV":           {`x,"` + strings.ReplaceAll(before+invented, `"`, `""`) + "\"\n" + event1 + "\n", 1, 2},
		"long, msg at the end": {`{"err":{"list":[` + long + invented + `]},"level":"info","msg":"x"}` + "\n" + event1 + "\n", 1, 1},
		"long, level first":    {`{"level":"info","msg":"x","hits":[` + long + invented + `]}` + "\n" + event1 + "\n", 1, 1},
		"long, lines":          {"{\n  \"level\": \"info\",\n  \"hits\": [" + long + "\n    " + invented + "\n  ],\n  \"msg\": \"x\"\n}\n" + event1 + "\n", 1, 1},
		"long input":           {before + long + invented + after + "\n" + event1 + "\n", 1, 1},
		"long wrapper":         {`{"hits":[` + long + `{"level":"info","a":[` + long + `1],"msg":"x"},` + event1 + "]}\nx\n]\n" + event1 + "\n", 2*maxLength/len(invented) + 1, 1},
		"long and deep":        {strings.Repeat(`{"hits":`, 2*int(maxNesting)) + "[" + long + "1]" + strings.Repeat("}", 2*int(maxNesting)) + "\n" + event1 + "\n", 1, 1},
		"logcli, labels":       {`2026-01-02T03:04:05Z {input_x=` + quoted(invented) + `, pod="x"} ` + event1 + "\n", 1, 0},
		"Fluent Bit":           {`[0] opa: [[1.0, {}], {"input"=>{"user"=>"x", "text"=>` + quoted(invented) + "}}]\n" + event1 + "\n", 1, 1},
		"no event":             {`{"level":"info","msg":"{\"decision_id\":\"x\"}"}` + "\n[INFO] {\"labels\":{},\"metrics\":{}}\n" + event1 + "\n", 1, 0},
		"long, CRI":            {strings.Repeat(inCRI("P", `{"decision_id":"d2","input":"`+strings.Repeat("x", maxLength/8)), 16) + inCRI("F", after) + inCRI("F", event1), 1, 8}, // in maxLength
	} {
		var c collector
		o := c.options()
		o.MaxLength = maxLength
		r := NewReader(o)
		text := []byte(test.text)
		r.Close(text[r.Read(text):])
		if len(c.Events) != test.events || c.Events[len(c.Events)-1].ID != "d1" || len(c.Problems) != test.problems {
			t.Errorf("%s: %d events, %q", name, len(c.Events), c.Problems)
		}
	}
}

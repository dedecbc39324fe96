package main

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		f      figure
		median float64
		want   string
	}{
		"below a ceiling": {figure{target: 30}, 29, "ok"},
		"at a ceiling":    {figure{target: 30}, 30, "ok"},
		"over a ceiling":  {figure{target: 30}, 31, "OVER"},
		"zero allowed":    {figure{target: 0}, 0, "ok"},
		"one over zero":   {figure{target: 0}, 1, "OVER"},
		"above a floor":   {figure{target: 5, atLeast: true}, 6, "ok"},
		"under a floor":   {figure{target: 5, atLeast: true}, 4, "UNDER"},
		"shown only":      {shown("x", "s", 3), 3, ""},
	} {
		if got := c.f.verdict(c.median); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTablePrintsMedians(t *testing.T) {
	table := newTable()
	for _, v := range []float64{3, 1, 2} {
		table.add([]figure{{name: "a", unit: "s", value: v, target: 2}})
	}
	table.add([]figure{shown("b", "MB", 4), shown("b", "MB", 8)})
	var out strings.Builder
	table.print(&out)
	for _, want := range []string{"a       2 s     1–3      ≤ 2     ok", "b       6 MB    4–8"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestParseBenchmarks(t *testing.T) {
	out := "goos: linux\nBenchmarkView/gate-2 \t 4107220\t 292.1 ns/op\t 280.5 cpu-ns/op\nPASS\nok  \tx\t2s\n"
	got := parseBenchmarks([]byte(out))
	if v := got["BenchmarkView/gate"]; v["ns/op"] != 292.1 || v["cpu-ns/op"] != 280.5 {
		t.Errorf("%v", got)
	}
	if len(got) != 1 {
		t.Errorf("more than one benchmark in %v", got)
	}
}

// Questions of rights are POSTs that change nothing.
func TestWritesCountsOnlyChanges(t *testing.T) {
	before := requests{"POST events": 2}
	after := requests{"GET profiles": 9, "LIST secrets": 3, "WATCH profiles": 1, "POST events": 5, "APPLY profiles/status": 4, "POST subjectaccessreviews": 7}
	if n := after.since(before).writes(); n != 7 {
		t.Errorf("%v writes, want 7", n)
	}
}

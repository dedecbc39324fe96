package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure is one measured value and what it should be.
type figure struct {
	name  string
	unit  string
	value float64
	// target is the most the value may be, or the least with atLeast; with none it is only shown.
	target  float64
	atLeast bool
	none    bool
}

// shown is a figure without a target.
func shown(name, unit string, value float64) figure {
	return figure{name: name, unit: unit, value: value, none: true}
}

// table collects the values of figures over several runs, in the order they were first seen.
type table struct {
	order  []string
	values map[string][]float64
	first  map[string]figure
}

func newTable() *table { return &table{values: map[string][]float64{}, first: map[string]figure{}} }

func (t *table) add(figures []figure) {
	for _, f := range figures {
		if _, ok := t.first[f.name]; !ok {
			t.order = append(t.order, f.name)
			t.first[f.name] = f
		}
		t.values[f.name] = append(t.values[f.name], f.value)
	}
}

func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEDIAN\tMIN–MAX\tTARGET\t")
	for _, name := range t.order {
		f, v := t.first[name], slices.Sorted(slices.Values(t.values[name]))
		median := medianOf(v)
		fmt.Fprintf(w, "%s\t%s %s\t%s–%s\t%s\t%s\n", name, number(median), f.unit, number(v[0]), number(v[len(v)-1]), f.limit(), f.verdict(median))
	}
	_ = w.Flush() // a table that cannot be printed has nobody to tell
}

func (f figure) limit() string {
	switch {
	case f.none:
		return ""
	case f.atLeast:
		return "≥ " + number(f.target)
	default:
		return "≤ " + number(f.target)
	}
}

func (f figure) verdict(median float64) string {
	switch {
	case f.none:
		return ""
	case f.atLeast && median < f.target:
		return "UNDER"
	case !f.atLeast && median > f.target:
		return "OVER"
	default:
		return "ok"
	}
}

// medianOf takes sorted values.
func medianOf(v []float64) float64 {
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")
	}
}

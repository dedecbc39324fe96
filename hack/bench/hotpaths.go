package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// benchmark is a Go benchmark of the repository whose result is a figure of the design.
type benchmark struct {
	pkg, name, unit string
	// scale turns the benchmark's unit into the figure's.
	scale  float64
	figure figure
}

func benchmarks() []benchmark {
	return []benchmark{
		{"./runtime/agent", "BenchmarkTurn26", "µs/call", 1e-3, figure{name: "turn overhead per model call, 26-call turn", unit: "ms", target: 1}},
		{"./runtime/agent", "BenchmarkTurn26", "cpu-µs/call", 1e-3, shown("  processor time", "ms", 0)},
		{"./runtime/home", "BenchmarkView/gate", "ns/op", 1, shown("hot config gate read", "ns", 0)},
		{"./runtime/home", "BenchmarkView/derived", "ns/op", 1, shown("  derived once per edit", "ns", 0)},
	}
}

// hotPaths runs the Go benchmarks that carry figures.
func hotPaths(ctx context.Context, e *env) ([]figure, error) {
	var figures []figure
	outputs := map[string]map[string]map[string]float64{}
	for _, b := range benchmarks() {
		root, _, _ := strings.Cut(b.name, "/")
		key := b.pkg + root
		if outputs[key] == nil {
			out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+root+"$", b.pkg).CombinedOutput()
			if err != nil {
				return figures, fmt.Errorf("%s of %s: %w: %s", root, b.pkg, err, out)
			}
			outputs[key] = parseBenchmarks(out)
		}
		value, ok := outputs[key][b.name][b.unit]
		if !ok {
			return figures, fmt.Errorf("%s of %s reports no %s", b.name, b.pkg, b.unit)
		}
		b.figure.value = value * b.scale
		figures = append(figures, b.figure)
	}
	return figures, nil
}

// parseBenchmarks reads the output of go test -bench: values by benchmark name (without -procs) and unit.
func parseBenchmarks(out []byte) map[string]map[string]float64 {
	found := map[string]map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := f[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i]
		}
		values := map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				values[f[i+1]] = v
			}
		}
		found[name] = values
	}
	return found
}

package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"hermes.dev/hermes/runtime/llm"
)

// metrics are the Prometheus metrics of one gateway process. None is labelled with
// an object's name: a thousand profiles are not a thousand series.
type metrics struct {
	registry *prometheus.Registry
	served   prometheus.Gauge
	turns    *prometheus.CounterVec
	seconds  prometheus.Histogram
	tokens   *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		served: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "hermes_gateway_served_profiles", Help: "Profiles this gateway has open.",
		}),
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hermes_gateway_turns_total", Help: "Finished turns by outcome: ok, or why there was no reply.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hermes_gateway_turn_seconds", Help: "How long turns took, the model included.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800},
		}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hermes_gateway_tokens_total", Help: "Tokens by kind, as the model providers count them.",
		}, []string{"kind"}),
	}
	m.registry.MustRegister(m.served, m.turns, m.seconds, m.tokens,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// turn counts one finished turn.
func (m *metrics) turn(outcome string, u llm.Usage, took time.Duration) {
	m.turns.WithLabelValues(outcome).Inc()
	m.seconds.Observe(took.Seconds())
	for kind, n := range map[string]int64{
		"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite, "reasoning": u.Reasoning,
	} {
		if n > 0 {
			m.tokens.WithLabelValues(kind).Add(float64(n))
		}
	}
}

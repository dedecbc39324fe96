package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// requests counts finished requests by "VERB resource/subresource", as the API server itself counts them.
type requests map[string]float64

func (s *stack) requests(ctx context.Context) (requests, error) {
	cfg := rest.CopyConfig(s.cfg)
	h, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := h.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	out := requests{}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		label := map[string]string{}
		for _, l := range m.GetLabel() {
			label[l.GetName()] = l.GetValue()
		}
		name := label["verb"] + " " + label["resource"]
		if sub := label["subresource"]; sub != "" {
			name += "/" + sub
		}
		out[name] += m.GetCounter().GetValue()
	}
	return out, nil
}

// since returns what came on top of an earlier count.
func (r requests) since(before requests) requests {
	out := requests{}
	for name, n := range r {
		if d := n - before[name]; d > 0 {
			out[name] = d
		}
	}
	return out
}

// writes is how many requests change something.
func (r requests) writes() float64 {
	n := 0.0
	for name, c := range r {
		verb, resource, _ := strings.Cut(name, " ")
		switch verb {
		case "GET", "LIST", "WATCH", "CONNECT":
			continue
		}
		if strings.HasSuffix(resource, "reviews") { // questions of rights, sent as POST
			continue
		}
		n += c
	}
	return n
}

// most lists the names that make up at least a share of everything, for the log.
func (r requests) most(share float64) string {
	total := 0.0
	for _, n := range r {
		total += n
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if r[name] >= share*total {
			out = append(out, fmt.Sprintf("%s %.0f", name, r[name]))
		}
	}
	return strings.Join(out, ", ")
}

// writesDuring counts the writes while nobody changes anything.
func (s *stack) writesDuring(ctx context.Context, d time.Duration) (float64, error) {
	before, err := s.requests(ctx)
	if err != nil {
		return 0, err
	}
	if err := letPass(ctx, d); err != nil {
		return 0, err
	}
	after, err := s.requests(ctx)
	if err != nil {
		return 0, err
	}
	return after.since(before).writes(), nil
}

// letPass lets time pass: the measured thing is what happens while nothing is asked.
func letPass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

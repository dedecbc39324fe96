package profile

import (
	"context"
	"fmt"
	"maps"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
)

// maxModels is the model and its fallbacks, of which spec.model.fallbacks has at most eight.
const maxModels = 9

// modelRoute is one model that config.yaml names: the profile's own, or one of its fallbacks.
type modelRoute struct {
	provider, model, baseURL string
	// window in tokens, 0 when it is not declared.
	window int64
}

// readPrimary takes the profile's own model out of a configuration. A provider that is not named is custom when there
// is a base URL, else openai.
func readPrimary(c *home.Config) modelRoute {
	m := modelRoute{
		provider: c.String("model", "provider"), baseURL: c.String("model", "base_url"),
		model: firstOf(c.String("model", "default"), c.String("model", "model"), c.String("model")),
	}
	if m.provider == "" {
		m.provider = "openai"
		if m.baseURL != "" {
			m.provider = llm.ProviderCustom
		}
	}
	window, _ := c.Int("model", "context_window")
	m.window = max(window, 0)
	return m
}

// readFallbacks takes the fallbacks out of a configuration: fallback_providers, or fallback_model of older ones.
// Implements the first half of L19.
func readFallbacks(c *home.Config) ([]modelRoute, error) {
	type entry struct {
		Provider      string `yaml:"provider"`
		Model         string `yaml:"model"`
		BaseURL       string `yaml:"base_url"`
		ContextWindow int64  `yaml:"context_window"`
	}
	var list []entry
	if err := c.Decode(&list, "fallback_providers"); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		var one entry
		if err := c.Decode(&one, "fallback_model"); err != nil {
			return nil, err
		}
		if one != (entry{}) {
			list = append(list, one)
		}
	}
	if len(list) >= maxModels {
		return nil, fmt.Errorf("fallback_providers has %d entries: name at most %d", len(list), maxModels-1)
	}
	var out []modelRoute
	for i, e := range list {
		switch {
		case e.Model == "":
			return nil, fmt.Errorf("fallback_providers[%d] names no model: set model", i)
		case e.Provider == "" && e.BaseURL == "":
			return nil, fmt.Errorf("fallback_providers[%d] names no provider: set provider", i)
		case e.Provider == "":
			e.Provider = llm.ProviderCustom
		}
		out = append(out, modelRoute{provider: e.Provider, model: e.Model, baseURL: e.BaseURL, window: max(e.ContextWindow, 0)})
	}
	return out, nil
}

// routes are the models in the order they are tried.
func (s settings) routes() []modelRoute { return append([]modelRoute{s.modelRoute}, s.fallbacks...) }

// checkRoutes says which model cannot be reached as it is configured.
func (s settings) checkRoutes() error {
	for i, m := range s.routes() {
		if m.provider == llm.ProviderDemo {
			continue
		}
		if _, err := llm.NewRoute(m.provider, m.baseURL); err != nil {
			if i > 0 {
				return fmt.Errorf("fallback_providers[%d]: %w", i-1, err)
			}
			return err
		}
	}
	return nil
}

// keyRing is the keys of every model of a configuration, as they are on disk now.
type keyRing struct {
	routes []modelRoute
	keys   [maxModels][]string
}

func (r *Runtime) readKeys(config *home.Config) (keyRing, error) {
	ring := keyRing{routes: []modelRoute{readPrimary(config)}}
	fallbacks, err := readFallbacks(config)
	if err != nil {
		return ring, err
	}
	ring.routes = append(ring.routes, fallbacks...)
	for i := range ring.routes {
		if ring.keys[i], err = home.ModelKeys(r.env, i); err != nil {
			return ring, err
		}
	}
	return ring, nil
}

// keyed says for which servers a model has, or once had, a key.
type keyed map[string]bool

// server is what a key was for.
func (m modelRoute) server() string { return m.provider + " " + m.baseURL }

// with returns k and the servers of a ring; it is k itself while there is no new one.
func (k keyed) with(ring keyRing) keyed {
	for i, m := range ring.routes {
		if len(ring.keys[i]) > 0 && !k[m.server()] {
			k = maps.Clone(k)
			if k == nil {
				k = keyed{}
			}
			k[m.server()] = true
		}
	}
	return k
}

// chain builds the models of an engine. What it remembers of failures lives as long as the engine.
func (r *Runtime) chain(s settings, had keyed) (*llm.Chain, error) {
	routes := s.routes()
	var list []llm.Candidate
	for i, m := range routes {
		c, err := r.candidate(i, m, had[m.server()], len(routes) > i+1)
		if err != nil {
			for _, made := range list {
				if cl, ok := made.Model.(*llm.Client); ok {
					cl.Close()
				}
			}
			return nil, err
		}
		list = append(list, c)
	}
	return llm.NewChain(r.o.Clock, r.o.Log, list...)
}

func (r *Runtime) candidate(i int, m modelRoute, had, backed bool) (llm.Candidate, error) {
	c := llm.Candidate{Name: m.model, Provider: m.provider, BaseURL: m.baseURL, Window: m.window}
	if m.provider == llm.ProviderDemo {
		c.Model = llm.Demo{}
		return c, nil
	}
	route, err := llm.NewRoute(m.provider, m.baseURL)
	if err != nil {
		return c, err
	}
	policy := r.o.Retries
	if policy == (llm.Policy{}) {
		policy = llm.DefaultPolicy()
	}
	if backed {
		policy = policy.WithFallback()
	}
	c.Keys = r.keys(i, route, had)
	c.Model, err = llm.NewClient(llm.Options{
		Route: route, Keys: c.Keys, Transport: r.o.Transport, Timeouts: r.o.Timeouts, Policy: policy, Window: m.window, Clock: r.o.Clock, Log: r.o.Log,
	})
	return c, err
}

// keys reads the keys of model i from the profile's own .env at every use, so that a revoked key is gone at once. A
// server that can do without gets none, as long as none was ever there: a key that was taken away must show as a
// missing one. No model ever gets the keys of another.
func (r *Runtime) keys(i int, route llm.Route, had bool) llm.KeySource {
	if route.KeyOptional && !had {
		return nil
	}
	return func(context.Context) ([]string, error) { return home.ModelKeys(r.env, i) }
}

package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// windowPatience bounds the question for a model's window; windowAgain is how long an answer, or its absence, holds.
	windowPatience = 5 * time.Second
	windowAgain    = time.Hour
	maxModelList   = 8 << 20
)

// windowSeen is what a server said of its window: 0 for nothing.
type windowSeen struct {
	tokens int64
	at     time.Time
}

// Window is the primary model's context window in tokens: what was declared, else what the server's list of models
// says, else 0 for unknown. It may ask the server, at most once an hour.
func (c *Chain) Window(ctx context.Context) int64 { return c.windowOf(ctx, 0) }

func (c *Chain) windowOf(ctx context.Context, i int) int64 {
	cand := c.list[i]
	if cand.Window > 0 {
		return cand.Window
	}
	asker, ok := cand.Model.(interface {
		Window(ctx context.Context, model string) (int64, error)
	})
	if !ok {
		return 0
	}
	now := c.clock.Now()
	c.mu.Lock()
	seen := c.windows[i]
	c.mu.Unlock()
	if !seen.at.IsZero() && now.Sub(seen.at) < windowAgain {
		return seen.tokens
	}
	tokens, err := asker.Window(ctx, cand.Name)
	if err != nil {
		c.log.V(1).Info("the model's context window is not known", "model", cand.label(), "cause", err.Error())
	}
	if ctx.Err() != nil {
		return tokens
	}
	c.mu.Lock()
	c.windows[i] = windowSeen{tokens: tokens, at: now}
	c.mu.Unlock()
	return tokens
}

// Window asks the route's list of models for the context window of one, in tokens; 0 means that it does not say.
func (c *Client) Window(ctx context.Context, model string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	key := ""
	if c.o.Keys != nil {
		keys, err := c.o.Keys(ctx)
		if err != nil {
			return 0, fmt.Errorf("the key cannot be read: %w", err)
		}
		if len(keys) > 0 {
			key = keys[0]
		}
	}
	if key != "" && !keyMayTravel(c.o.Route.url) {
		key = ""
	}
	wire := c.o.Route.wire()
	u := wire.endpoint(c.o.Route.url).JoinPath("..", "models")
	if c.o.Route.Dialect == DialectChat {
		u = c.o.Route.url.JoinPath("models")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", "hermes")
	wire.authorize(r.Header, key, c.o.Route)
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, fmt.Errorf("asking %s for its models: %w", c.o.Route.Host(), rootCause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("asking %s for its models: status %d", c.o.Route.Host(), resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxModelList))
	if err != nil {
		return 0, fmt.Errorf("asking %s for its models: %w", c.o.Route.Host(), err)
	}
	return windowIn(b, model), nil
}

// windowIn finds a model's window in a list of models, under the names servers give it. A figure that no model has
// counts as nothing said.
func windowIn(list []byte, model string) int64 {
	var w struct {
		Data []struct {
			ID                  string    `json:"id"`
			ContextLength       wireCount `json:"context_length"`     // OpenRouter, Together, Fireworks
			ContextWindow       wireCount `json:"context_window"`     // Groq
			MaxContextLength    wireCount `json:"max_context_length"` // Mistral, LM Studio
			LoadedContextLength wireCount `json:"loaded_context_length"`
			MaxModelLen         wireCount `json:"max_model_len"`    // vLLM
			MaxInputTokens      wireCount `json:"max_input_tokens"` // Anthropic
		} `json:"data"`
	}
	if json.Unmarshal(list, &w) != nil {
		return 0
	}
	for _, m := range w.Data {
		if m.ID != model {
			continue
		}
		for _, n := range []wireCount{m.LoadedContextLength, m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContextLength, m.MaxInputTokens} {
			if n >= 1024 && n <= 100_000_000 {
				return int64(n)
			}
		}
	}
	return 0
}

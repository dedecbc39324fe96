package agent

import "hermes.dev/hermes/runtime/llm"

// announce tells people that another model answers. A route that rests is left aside for every call of a turn; saying
// it once is enough.
func (r *run) announce(f *llm.Fallback) {
	if f.Resting && f.To == r.fallback {
		return
	}
	r.fallback = f.To
	r.emit(Event{Kind: EventFallback, Fallback: f})
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

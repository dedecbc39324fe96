package profile

import (
	"fmt"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
)

// modelPick is the model of a run that does not use the profile's.
type modelPick struct {
	modelRoute
	// key says whose keys it uses: the index of a model of the profile on the same server.
	key int
	// alone says that no fallback stands in.
	alone bool
}

// cronModel picks a run's model: the one the job pins, else cron.model, else the profile's, for which it returns nil. A
// pinned one never uses the fallback chain. Keys belong to a server: a model on a server that the profile names no model
// of is refused, so that no server is sent the keys of another.
//
// Implements the model rule of C-235.
func cronModel(c *home.Config, s settings, j cron.Job) (*modelPick, error) {
	pick := &modelPick{modelRoute: modelRoute{provider: j.Provider, model: j.Model, baseURL: j.BaseURL}, alone: true}
	where := "the job"
	if pick.model == "" {
		*pick = modelPick{modelRoute: modelRoute{provider: c.String("cron", "model_provider"), model: c.String("cron", "model")}}
		where = "cron.model"
	}
	if pick.model == "" {
		return nil, nil
	}
	for i, m := range s.routes() {
		if (pick.provider == "" || pick.provider == m.provider) && (pick.baseURL == "" || pick.baseURL == m.baseURL) {
			pick.provider, pick.baseURL, pick.key = m.provider, m.baseURL, i
			if pick.model == m.model {
				pick.window = m.window
			}
			return pick, nil
		}
	}
	return nil, fmt.Errorf("%s asks for model %s of provider %s, of which the profile declares no model: add one to spec.model.fallbacks, so that its keys are known", where, pick.model, firstOf(pick.provider, pick.baseURL))
}

// pinned builds the chain of a picked model.
func (r *Runtime) pinned(e *engine, p modelPick) (*llm.Chain, error) {
	first, err := r.candidate(p.key, p.modelRoute, e.keyed[p.server()], !p.alone)
	if err != nil {
		return nil, err
	}
	list := []llm.Candidate{first}
	if !p.alone {
		routes := e.settings.routes()
		for i, m := range routes[1:] {
			c, err := r.candidate(i+1, m, e.keyed[m.server()], len(routes) > i+2)
			if err != nil {
				closeCandidates(list)
				return nil, err
			}
			list = append(list, c)
		}
	}
	return llm.NewChain(r.o.Clock, r.o.Log, list...)
}

func closeCandidates(list []llm.Candidate) {
	for _, c := range list {
		if cl, ok := c.Model.(*llm.Client); ok {
			cl.Close()
		}
	}
}

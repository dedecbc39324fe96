package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// endScheduled is why the session of a run ends: it has answered, and can be pruned like any other.
const endScheduled = "cron_complete"

// maxContextOutput is how much of another job's output a run is told, in bytes.
const maxContextOutput = 16 << 10

// errIdle is the cause of a run that showed no sign of life for too long.
var errIdle = errors.New("the run showed no sign of life for too long")

// cronRunner runs the profile's jobs as turns of sessions of their own.
type cronRunner struct{ r *Runtime }

var _ cron.Runner = cronRunner{}

// Run implements cron.Runner: a turn in a fresh session, with the tools of a scheduled prompt and nobody to ask.
//
// Implements C-235.
func (c cronRunner) Run(ctx context.Context, run cron.Run) cron.Outcome {
	if why := unsupported(run.Job); why != "" {
		return cron.Outcome{Blocked: why}
	}
	res, err := c.turn(ctx, run)
	return outcomeOfRun(res, err, c.r.o.Clock.Now())
}

// unsupported says what of a job this version cannot do, so that it is told instead of left out.
func unsupported(j cron.Job) string {
	switch {
	case j.Script != "" || j.NoAgent:
		return "the job runs a script, which this version does not do: give the job a prompt that runs the command"
	case j.MonitorScript != "" || j.MonitorURL != "":
		return "the job watches a script or a URL, which this version does not do: give the job a prompt that looks at it"
	case j.Workdir != "":
		return "the job has a working directory of its own, which this version does not do: declare it as the profile's spec.workspace.directory"
	}
	return ""
}

// turn is Runtime.Turn for a run. What was claimed before the gateway began to drain is let in.
func (c cronRunner) turn(ctx context.Context, run cron.Run) (res agent.Result, err error) {
	r := c.r
	began := r.o.Clock.Now()
	if err := r.admitClaimed(); err != nil {
		return agent.Result{}, err
	}
	defer r.leave()
	defer func() {
		r.o.Observe(outcomeOf(err), res.Usage, r.o.Clock.Since(began))
		r.noteStore(ctx, err)
	}()
	defer r.catch(&err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	id, err := session.NewID(began, nil)
	if err != nil {
		return agent.Result{}, err
	}
	if err := r.claim(id, cancel); err != nil {
		return agent.Result{}, err
	}
	defer r.unclaim(id)
	e, with, err := r.enter()
	if err != nil {
		return agent.Result{}, err
	}
	defer e.turns.Done()
	defer func() { r.noteModel(e, err, with) }()
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return agent.Result{}, err
	}
	defer release()
	loop, done, err := r.cronLoop(e, run.Job)
	if err != nil {
		return agent.Result{}, err
	}
	defer done()
	prompt, err := r.cronPrompt(run)
	if err != nil {
		return agent.Result{}, err
	}
	alive, stop := r.watchIdle(cancel)
	defer stop()
	res, err = loop.Run(ctx, agent.Turn{
		SessionID: id, Source: string(session.KindCron), UserText: prompt, TitleFrom: firstOf(run.Job.Name, run.Prompt), DisplayName: run.Job.Name,
	}, func(agent.Event) { alive() })
	if end := s.EndSession(context.WithoutCancel(ctx), id, endScheduled); end != nil && !errors.Is(end, store.ErrNoSession) {
		r.o.Log.Error(end, "the session of a run was not ended", "session", id)
	}
	return res, err
}

// admitClaimed is admit for work that was taken on before the drain began: refusing it now would lose it.
func (r *Runtime) admitClaimed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.breaker.open(r.o.Clock.Now()):
		return &CrashError{Cause: r.crash, Until: r.breaker.until}
	}
	r.active++
	r.background.Add(1)
	return nil
}

// watchIdle cancels a run that shows no sign of life for the time that is configured. alive is called at each sign. What
// counts is idle time, never how long the run takes.
//
// Implements C-236.
func (r *Runtime) watchIdle(cancel context.CancelCauseFunc) (alive, stop func()) {
	limit := r.cronSettings().Inactivity
	if limit <= 0 {
		return func() {}, func() {}
	}
	timer := r.o.Clock.AfterFunc(limit, func() { cancel(fmt.Errorf("%w: %s", errIdle, limit)) })
	return func() { timer.Reset(limit) }, func() { timer.Stop() }
}

// cronLoop is the loop of one run: the job's tools and the job's model. done gives back what it made.
func (r *Runtime) cronLoop(e *engine, j cron.Job) (loop *agent.Loop, done func(), err error) {
	allowed, err := r.cronTools(e, j)
	if err != nil {
		return nil, nil, err
	}
	pick, err := cronModel(e.config, e.settings, j)
	if err != nil {
		return nil, nil, &ConfigError{Err: err}
	}
	model, done, s := e.model, func() {}, e.settings
	if pick != nil {
		if model, err = r.pinned(e, *pick); err != nil {
			return nil, nil, &ConfigError{Err: err}
		}
		s.modelRoute, done = pick.modelRoute, model.Close
	}
	set := limitedTools{Set: e.tools.set, allowed: allowed}
	loop, err = agent.New(agent.Config{
		Store: agentStore{r.store}, Tools: set, Model: model, CacheTTL: s.cacheTTL,
		ModelName: s.model, Provider: s.provider, BaseURL: s.baseURL, MaxTurns: s.maxTurns,
		SystemPrompt: func(ctx context.Context) (string, error) {
			return systemPrompt(ctx, r.o.Paths, s.workspace, e.tools.set.Prompt(ctx), r.o.Clock.Now())
		},
		Compaction: s.compaction.config(s.provider, model, r.store, r.o.RunID),
		Profile:    r.o.Paths.Name, Clock: r.o.Clock, Log: r.o.Log,
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	return loop, done, nil
}

// cronTools says which tools a run may use: those of the job's own toolsets, else of platform_toolsets.cron, else of
// hermes-cron; never more than the profile has, and never what waits for a person.
func (r *Runtime) cronTools(e *engine, j cron.Job) (func(string) bool, error) {
	sets := j.EnabledToolsets
	if len(sets) == 0 {
		sets = e.config.Strings("platform_toolsets", "cron")
	}
	if len(sets) == 0 {
		sets = []string{"hermes-cron"}
	}
	if slices.Contains(sets, "all") || slices.Contains(sets, "*") {
		return nil, &ConfigError{Err: errors.New("a scheduled prompt does not get all tools: name its toolsets, such as hermes-cron")}
	}
	without := []string{"clarify", "messaging"}
	if !e.config.Bool("cron", "allow_agent_scheduling") {
		without = append(without, "cronjob")
	}
	allowed, err := e.tools.set.Within(sets, without)
	if err != nil {
		return nil, &ConfigError{Err: err}
	}
	return allowed, nil
}

// cronPrompt is what a run is told: what its surroundings are, the skills to follow, what other jobs said last, and the
// prompt.
func (r *Runtime) cronPrompt(run cron.Run) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "[This is a run of the scheduled job %q. Nobody is present to answer; your last answer is delivered as it is. Answer [SILENT] alone when there is nothing to tell, and begin with a line [CRON_FAILURE] when the task failed.]\n\n", run.Job.Name)
	if skills := run.Job.Skills; len(skills) > 0 {
		fmt.Fprintf(&b, "Read and follow these skills first: %s.\n\n", strings.Join(skills, ", "))
	}
	jobs, err := r.Jobs()
	if err != nil {
		return "", err
	}
	for _, ref := range run.Job.ContextFrom {
		if text := newestOutput(jobs, ref); text != "" {
			fmt.Fprintf(&b, "Newest output of job %s:\n%s\n\n", ref, text)
		}
	}
	b.WriteString(run.Prompt)
	return strings.TrimSpace(b.String()), nil
}

// newestOutput is what a job said last, empty when it said nothing or is gone.
func newestOutput(jobs *cron.Store, ref string) string {
	j, err := jobs.Job(ref)
	if err != nil {
		return ""
	}
	paths, err := jobs.Outputs(j.ID)
	if err != nil || len(paths) == 0 {
		return ""
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(raw[:min(len(raw), maxContextOutput)]), "")
}

// outcomeOfRun tells the scheduler how a turn ended.
func outcomeOfRun(res agent.Result, err error, now time.Time) cron.Outcome {
	out := cron.Outcome{Text: res.Reply, Err: err, APICalls: res.ModelCalls}
	var turn *agent.Error
	var config *ConfigError
	var call *llm.Error
	switch {
	case errors.As(err, &config), errors.As(err, &turn) && turn.Kind == agent.KindCredentialMissing:
		out.Blocked = err.Error()
	case errors.As(err, &turn) && turn.Kind == agent.KindRateLimited && turn.RetryAt.After(now):
		out.QuotaWait = turn.RetryAt.Sub(now)
	case errors.As(err, &call) && call.Status == 0 && call.Reason == llm.ReasonTimeout:
		out.Unreachable = true
	}
	return out
}

// limitedTools is the part of a tool set that a run may use.
type limitedTools struct {
	*tools.Set
	allowed func(name string) bool
}

var _ agent.Tools = limitedTools{}

// Definitions implements agent.Tools.
func (l limitedTools) Definitions() []tools.Definition {
	return slices.DeleteFunc(l.Set.Definitions(), func(d tools.Definition) bool { return !l.allowed(d.Name) })
}

// Run implements agent.Tools.
func (l limitedTools) Run(ctx context.Context, sessionID string, call tools.Call, approve tools.ApproveFunc) tools.Result {
	if !l.allowed(call.Name) {
		return tools.Result{IsError: true, Content: fmt.Sprintf(`{"error":"a scheduled prompt has no tool %q"}`, call.Name)}
	}
	return l.Set.Run(ctx, sessionID, call, approve)
}

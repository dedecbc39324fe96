package localapi

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"hermes.dev/hermes/runtime/cron"
)

// JobKeeper is what the API needs of a profile's scheduled work.
type JobKeeper interface {
	// Jobs is the profile's job store.
	Jobs() (*cron.Store, error)
	// RunningJobs are the ids of the jobs that run in this process.
	RunningJobs() []string
	// TriggerJob makes a job due now.
	TriggerJob(ctx context.Context, ref, prompt string) (cron.Job, error)
	// TickJobs hands out what is due; with wait it returns when nothing runs any more.
	TickJobs(ctx context.Context, wait bool) (int, error)
}

// defaultRuns is how many rows of the ledger are listed unless the request says.
const defaultRuns = 20

func (h *handler) routeCron(mux *http.ServeMux) {
	const base = "/v1/profiles/{profile}/cron"
	const job = base + "/jobs/{job}"
	for pattern, serve := range map[string]func(*http.Request, Profile, *cron.Store) (any, error){
		"GET " + base:            h.cronStatus,
		"GET " + base + "/jobs":  h.cronJobs,
		"GET " + job:             h.cronJob,
		"DELETE " + job:          h.cronRemove,
		"GET " + base + "/runs":  h.cronRuns,
		"POST " + base + "/tick": h.cronTick,
	} {
		mux.HandleFunc(pattern, h.withJobs(func(_ http.ResponseWriter, r *http.Request, p Profile, s *cron.Store) (any, error) {
			return serve(r, p, s)
		}))
	}
	mux.HandleFunc("POST "+base+"/jobs", h.withJobs(h.cronCreate))
	mux.HandleFunc("PATCH "+job, h.withJobs(h.cronEdit))
	mux.HandleFunc("POST "+job+"/pause", h.withJobs(h.cronPause))
	mux.HandleFunc("POST "+job+"/resume", h.withJobs(h.cronResume))
	mux.HandleFunc("POST "+job+"/run", h.withJobs(h.cronRun))
	mux.HandleFunc("POST "+job+"/ack", h.withJobs(h.cronAck))
}

// withJobs answers with what next returns, or with what is wrong with the request.
func (h *handler) withJobs(next func(http.ResponseWriter, *http.Request, Profile, *cron.Store) (any, error)) http.HandlerFunc {
	return h.withProfile(func(w http.ResponseWriter, r *http.Request, p Profile) {
		store, err := p.Jobs()
		var out any
		if err == nil {
			out, err = next(w, r, p, store)
		}
		if err != nil {
			writeError(w, cronError(err, h.now()))
			return
		}
		writeJSON(w, http.StatusOK, out)
	})
}

// Codes of what is wrong with a request about jobs.
const (
	CodeJobNotFound  = "job_not_found"
	CodeJobAmbiguous = "job_ambiguous"
	CodeJobDeclared  = "job_declared"
)

func cronError(err error, now time.Time) *Error {
	switch {
	case errors.Is(err, cron.ErrNotFound):
		return notFound(CodeJobNotFound, "%v", err)
	case errors.Is(err, cron.ErrAmbiguous):
		return &Error{Status: http.StatusConflict, Type: "invalid_request_error", Code: CodeJobAmbiguous, Message: err.Error()}
	case errors.Is(err, cron.ErrDeclared):
		return &Error{Status: http.StatusConflict, Type: "invalid_request_error", Code: CodeJobDeclared, Message: err.Error()}
	}
	return toError(err, now)
}

// refused makes what a store says about a change of somebody's the fault of the request.
func refused(j cron.Job, err error, now time.Time, s JobView) (any, error) {
	var file *fs.PathError
	switch {
	case err == nil:
		return s(j, now), nil
	case errors.As(err, &file), errors.Is(err, cron.ErrNotFound), errors.Is(err, cron.ErrAmbiguous), errors.Is(err, cron.ErrDeclared), errors.Is(err, context.Canceled):
		return nil, err
	}
	return nil, badRequest("%v", err)
}

// JobView makes the answer of a job.
type JobView func(cron.Job, time.Time) Job

func (h *handler) view(p Profile) JobView {
	running := p.RunningJobs()
	return func(j cron.Job, now time.Time) Job { return jobInfo(j, running, now) }
}

func (h *handler) cronStatus(_ *http.Request, p Profile, s *cron.Store) (any, error) {
	now, running := h.now(), p.RunningJobs()
	markers := s.Markers()
	health := cron.Judge(markers, now)
	out := CronStatus{Verdict: string(health.Verdict), Message: health.Message, Heartbeat: markers.Heartbeat, Success: markers.Success, Error: markers.Error, CatchUps: markers.CatchUps, Running: running}
	jobs, err := s.Jobs()
	if err != nil {
		out.Verdict, out.Message = string(cron.Failing), err.Error() // what a tick would say as well
		return out, nil
	}
	for _, j := range jobs {
		out.Jobs++
		if j.Runnable() {
			out.Active++
		}
		if cron.Overdue(j, now) > 0 {
			out.Overdue++
		}
	}
	if next, ok := cron.EarliestRun(jobs, now); ok {
		info := jobInfo(next.Job, running, now)
		out.Next = &info
	}
	return out, nil
}

func (h *handler) cronJobs(_ *http.Request, p Profile, s *cron.Store) (any, error) {
	jobs, err := s.Jobs()
	if err != nil {
		return nil, err
	}
	now, view := h.now(), h.view(p)
	list := make([]Job, 0, len(jobs))
	for _, j := range jobs {
		list = append(list, view(j, now))
	}
	return jobList{Data: list}, nil
}

func (h *handler) cronJob(r *http.Request, p Profile, s *cron.Store) (any, error) {
	j, err := s.Job(r.PathValue("job"))
	if err != nil {
		return nil, err
	}
	return h.view(p)(j, h.now()), nil
}

func (h *handler) cronCreate(w http.ResponseWriter, r *http.Request, p Profile, s *cron.Store) (any, error) {
	var body NewJob
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	j, err := s.Create(r.Context(), body.job())
	return refused(j, err, h.now(), h.view(p))
}

func (h *handler) cronEdit(w http.ResponseWriter, r *http.Request, p Profile, s *cron.Store) (any, error) {
	var body JobPatch
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	j, err := s.Edit(r.Context(), r.PathValue("job"), body.patch())
	return refused(j, err, h.now(), h.view(p))
}

func (h *handler) cronPause(w http.ResponseWriter, r *http.Request, p Profile, s *cron.Store) (any, error) {
	var body PauseJob
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	j, err := s.Pause(r.Context(), r.PathValue("job"), body.Reason)
	return refused(j, err, h.now(), h.view(p))
}

func (h *handler) cronResume(w http.ResponseWriter, r *http.Request, p Profile, s *cron.Store) (any, error) {
	var body ResumeJob
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	j, err := s.Resume(r.Context(), r.PathValue("job"), cron.ResumeOptions{At: body.At, RunNow: body.RunNow})
	return refused(j, err, h.now(), h.view(p))
}

func (h *handler) cronRun(w http.ResponseWriter, r *http.Request, p Profile, _ *cron.Store) (any, error) {
	var body RunJob
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	j, err := p.TriggerJob(r.Context(), r.PathValue("job"), body.Prompt)
	return refused(j, err, h.now(), h.view(p))
}

func (h *handler) cronAck(_ http.ResponseWriter, r *http.Request, _ Profile, s *cron.Store) (any, error) {
	n, err := s.Acknowledge(r.Context(), r.PathValue("job"))
	return Acknowledged{Incidents: n}, err
}

func (h *handler) cronRemove(r *http.Request, p Profile, s *cron.Store) (any, error) {
	j, err := s.Remove(r.Context(), r.PathValue("job"))
	return refused(j, err, h.now(), h.view(p))
}

func (h *handler) cronRuns(r *http.Request, _ Profile, s *cron.Store) (any, error) {
	limit := defaultRuns
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return nil, badRequest("limit is %q and must be a number from 1 to 1000", text)
		}
		limit = n
	}
	id := ""
	if ref := r.URL.Query().Get("job"); ref != "" {
		j, err := s.Job(ref)
		switch {
		case errors.Is(err, cron.ErrNotFound):
			id = ref // a job that is gone has rows all the same
		case err != nil:
			return nil, err
		default:
			id = j.ID
		}
	}
	rows, err := s.Executions(r.Context(), id, limit)
	if err != nil {
		return nil, err
	}
	list := make([]JobRun, 0, len(rows))
	for _, e := range rows {
		list = append(list, jobRun(e))
	}
	return runList{Data: list}, nil
}

func (h *handler) cronTick(r *http.Request, p Profile, _ *cron.Store) (any, error) {
	n, err := p.TickJobs(r.Context(), r.URL.Query().Get("wait") == "true")
	return Ticked{Dispatched: n}, err
}

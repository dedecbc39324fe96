package localapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

func cronPath(profile string) string { return profilePath(profile) + "/cron" }

func jobPath(profile, job string) string {
	return cronPath(profile) + "/jobs/" + url.PathEscape(job)
}

// CronStatus says how a profile's scheduled work is.
func (c *Client) CronStatus(ctx context.Context, profile string) (CronStatus, error) {
	var out CronStatus
	err := c.call(ctx, profile, http.MethodGet, cronPath(profile), nil, &out)
	return out, err
}

// Jobs lists a profile's jobs in the order of their file.
func (c *Client) Jobs(ctx context.Context, profile string) ([]Job, error) {
	var out jobList
	err := c.call(ctx, profile, http.MethodGet, cronPath(profile)+"/jobs", nil, &out)
	return out.Data, err
}

// Job returns the job of an id or a name.
func (c *Client) Job(ctx context.Context, profile, job string) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodGet, jobPath(profile, job), nil)
}

// CreateJob makes a job.
func (c *Client) CreateJob(ctx context.Context, profile string, n NewJob) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodPost, cronPath(profile)+"/jobs", n)
}

// EditJob changes a job.
func (c *Client) EditJob(ctx context.Context, profile, job string, p JobPatch) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodPatch, jobPath(profile, job), p)
}

// PauseJob keeps a job from firing until it is resumed.
func (c *Client) PauseJob(ctx context.Context, profile, job, reason string) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodPost, jobPath(profile, job)+"/pause", PauseJob{Reason: reason})
}

// ResumeJob lifts a pause.
func (c *Client) ResumeJob(ctx context.Context, profile, job string, r ResumeJob) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodPost, jobPath(profile, job)+"/resume", r)
}

// RunJob makes a job due now; prompt replaces the job's for this run when it is not empty.
func (c *Client) RunJob(ctx context.Context, profile, job, prompt string) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodPost, jobPath(profile, job)+"/run", RunJob{Prompt: prompt})
}

// RemoveJob deletes a job and returns what it was.
func (c *Client) RemoveJob(ctx context.Context, profile, job string) (Job, error) {
	return c.jobCall(ctx, profile, http.MethodDelete, jobPath(profile, job), nil)
}

// AcknowledgeJob silences a job's open incidents until it succeeds, and returns how many there were.
func (c *Client) AcknowledgeJob(ctx context.Context, profile, job string) (int, error) {
	var out Acknowledged
	err := c.call(ctx, profile, http.MethodPost, jobPath(profile, job)+"/ack", struct{}{}, &out)
	return out.Incidents, err
}

func (c *Client) jobCall(ctx context.Context, profile, method, path string, body any) (Job, error) {
	var out Job
	err := c.call(ctx, profile, method, path, body, &out)
	return out, err
}

// JobRuns lists the newest runs, newest first; job "" is those of all jobs.
func (c *Client) JobRuns(ctx context.Context, profile, job string, limit int) ([]JobRun, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if job != "" {
		query.Set("job", job)
	}
	var out runList
	err := c.call(ctx, profile, http.MethodGet, cronPath(profile)+"/runs?"+query.Encode(), nil, &out)
	return out.Data, err
}

// TickJobs hands out what is due and returns how many; with wait it returns when nothing runs any more.
func (c *Client) TickJobs(ctx context.Context, profile string, wait bool) (int, error) {
	var out Ticked
	err := c.call(ctx, profile, http.MethodPost, cronPath(profile)+"/tick?wait="+strconv.FormatBool(wait), nil, &out)
	return out.Dispatched, err
}

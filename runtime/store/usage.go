package store

import (
	"context"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// Usage is what model calls consumed: an increment for AddUsage, a total elsewhere. Tokens and calls are counts; a
// nil cost is unknown, which is not the same as free.
type Usage struct {
	Model                                        string
	BillingProvider, BillingBaseURL, BillingMode string
	// Task is what the calls were for when not the conversation itself, for example a title.
	Task                              string
	InputTokens, OutputTokens         int64
	CacheReadTokens, CacheWriteTokens int64
	ReasoningTokens                   int64
	APICalls                          int64
	EstimatedCostUSD, ActualCostUSD   *float64
}

// ModelUsage is a session's total for one model, billing route and task.
type ModelUsage struct {
	Usage
	FirstSeen, LastSeen time.Time
}

// AddUsage adds an increment to the session's counters and to its row for that model, billing route and task.
// Errors: ErrNoSession.
func (s *Store) AddUsage(ctx context.Context, sessionID string, u Usage) error {
	now := nullEpoch(s.clock.Now())
	return s.update(ctx, RoutineBudget, sessionID, func(ctx context.Context, q *db.Queries) (int64, error) {
		n, err := q.AddSessionUsage(ctx, u.sessionParams(sessionID))
		if err != nil || n == 0 {
			return n, err
		}
		return n, q.AddModelUsage(ctx, db.AddModelUsageParams{
			SessionID: sessionID, Model: u.Model, BillingProvider: u.BillingProvider,
			BillingBaseUrl: u.BillingBaseURL, BillingMode: u.BillingMode, Task: u.Task,
			ApiCallCount: count(u.APICalls), InputTokens: count(u.InputTokens), OutputTokens: count(u.OutputTokens),
			CacheReadTokens: count(u.CacheReadTokens), CacheWriteTokens: count(u.CacheWriteTokens),
			ReasoningTokens: count(u.ReasoningTokens), EstimatedCostUsd: nullFloat(u.EstimatedCostUSD),
			ActualCostUsd: nullFloat(u.ActualCostUSD), FirstSeen: now, LastSeen: now,
		})
	})
}

// ModelUsage returns a session's totals by model, billing route and task, in that order.
func (s *Store) ModelUsage(ctx context.Context, sessionID string) ([]ModelUsage, error) {
	var totals []ModelUsage
	err := s.read(ctx, func(q *db.Queries) error {
		rows, err := q.ModelUsage(ctx, sessionID)
		if err != nil {
			return err
		}
		totals = make([]ModelUsage, len(rows))
		for i, r := range rows {
			totals[i] = ModelUsage{
				Usage: Usage{
					Model: r.Model, BillingProvider: r.BillingProvider, BillingBaseURL: r.BillingBaseUrl,
					BillingMode: r.BillingMode, Task: r.Task, InputTokens: r.InputTokens.Int64,
					OutputTokens: r.OutputTokens.Int64, CacheReadTokens: r.CacheReadTokens.Int64,
					CacheWriteTokens: r.CacheWriteTokens.Int64, ReasoningTokens: r.ReasoningTokens.Int64,
					APICalls: r.ApiCallCount.Int64, EstimatedCostUSD: fromNullFloat(r.EstimatedCostUsd),
					ActualCostUSD: fromNullFloat(r.ActualCostUsd),
				},
				FirstSeen: fromNullEpoch(r.FirstSeen), LastSeen: fromNullEpoch(r.LastSeen),
			}
		}
		return nil
	})
	return totals, err
}

func (u Usage) sessionParams(id string) db.AddSessionUsageParams {
	p := db.AddSessionUsageParams{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens, ApiCalls: u.APICalls,
		HasEstimate: flag(u.EstimatedCostUSD != nil), HasActual: flag(u.ActualCostUSD != nil),
		BillingProvider: u.BillingProvider, BillingBaseUrl: u.BillingBaseURL, BillingMode: u.BillingMode, ID: id,
	}
	if u.EstimatedCostUSD != nil {
		p.EstimatedCost = *u.EstimatedCostUSD
	}
	if u.ActualCostUSD != nil {
		p.ActualCost = *u.ActualCostUSD
	}
	return p
}

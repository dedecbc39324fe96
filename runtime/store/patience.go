package store

import "time"

// The patience budgets: how long an operation keeps trying while another connection holds SQLite's write lock,
// waiting for its turn inside this process included.
//
// Implements S-110 and S-113.
const (
	// RoutineBudget is for writes that a turn can do without, such as titles and usage, and for upkeep.
	RoutineBudget = 20 * time.Second
	// TranscriptBudget is for messages, which nobody can produce again, and for every other write that a turn ends
	// with when it fails: the session row it begins with, its prompt, what is said to it while it runs, its compaction.
	TranscriptBudget = 60 * time.Second
	// ActivityBudget is for activity and heartbeat writes, which the next one replaces.
	ActivityBudget = 500 * time.Millisecond
	// OpenBudget is for bringing a writable store up.
	OpenBudget = 20 * time.Second
	// ReadBudget is for opening read-only and for queries.
	ReadBudget = 5 * time.Second

	// engineTimeout is how long SQLite itself waits for a lock. It stays short, so that waiting happens where it
	// can be cancelled and jittered.
	engineTimeout = time.Second
)

// retryDelay returns how long to sleep before the next attempt at a locked store, given how long the operation has
// been trying and a random number in [0,1). It is false once the budget is spent. A delay never overshoots the
// budget.
//
// Implements S-111.
func retryDelay(spent, budget time.Duration, random float64) (time.Duration, bool) {
	if spent >= budget {
		return 0, false
	}
	low, high := 20*time.Millisecond, 150*time.Millisecond
	if spent >= 2*time.Second {
		low, high = 250*time.Millisecond, time.Second
	}
	delay := low + time.Duration(random*float64(high-low))
	return min(delay, budget-spent), true
}

// engineWait is SQLite's own busy timeout for an operation with this budget.
func engineWait(budget time.Duration) time.Duration { return min(engineTimeout, budget) }

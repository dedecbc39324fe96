package agent

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// DefaultMaxTurns is the budget of a turn, in model calls, when agent.max_turns is absent. Implements L6.
const DefaultMaxTurns = 500

// Unlimited is a budget that is never used up.
const Unlimited = -1

// ParseMaxTurns reads agent.max_turns as YAML or JSON gives it: set says whether the key is there. A null, 0, -1,
// "none", "unlimited" or "inf" is Unlimited; an absent key is DefaultMaxTurns, because a loop nobody bounded on
// purpose must end.
func ParseMaxTurns(v any, set bool) (int, error) {
	if !set {
		return DefaultMaxTurns, nil
	}
	bad := fmt.Errorf("agent.max_turns is %v: use a whole number of model calls, or \"unlimited\"", v)
	var n float64
	switch x := v.(type) {
	case nil:
		return Unlimited, nil
	case int:
		n = float64(x)
	case int64:
		n = float64(x)
	case uint64:
		n = float64(x)
	case float64:
		n = x
	case string:
		s := strings.ToLower(strings.TrimSpace(x))
		if s == "none" || s == "unlimited" || s == "inf" {
			return Unlimited, nil
		}
		i, err := strconv.Atoi(s)
		if err != nil {
			return 0, bad
		}
		n = float64(i)
	default:
		return 0, bad
	}
	switch {
	case n == 0 || n == -1 || math.IsInf(n, 1):
		return Unlimited, nil
	case n < 0 || n != math.Trunc(n) || n > math.MaxInt32:
		return 0, bad
	}
	return int(n), nil
}

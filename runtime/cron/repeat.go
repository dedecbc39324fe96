package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseRepeat reads how often a job runs: a number, a word for ever, a word for once. nil is for ever, and so is any
// number that is not positive.
//
// Implements C-109, T-125.
func ParseRepeat(text string) (*int, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	if slices.Contains([]string{"", "forever", "infinite", "inf", "none"}, word) {
		return nil, nil
	}
	if slices.Contains([]string{"once", "one", "1x"}, word) {
		one := 1
		return &one, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return nil, fmt.Errorf("repeat %q is not a number of runs: write a number, \"once\" or \"forever\"", text)
	}
	if n <= 0 {
		return nil, nil
	}
	return &n, nil
}

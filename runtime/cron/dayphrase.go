package cron

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	clockRow     = regexp.MustCompile(`^(\d{1,2})(?::(\d{2}))?\s*(am|pm)?$`)
	clockAtEnd   = regexp.MustCompile(`^(.+?)(?:\s+at)?\s+(\d{1,2}(?::\d{2})?\s*(?:am|pm)?|noon|midday|midnight)$`)
	daySeparator = regexp.MustCompile(`\s*,\s*(?:and\s+)?|\s+and\s+`)
)

// parseDayPhrase reads days and a clock, such as "monday, wednesday at 9:30pm", as a cron expression. text is lower case
// and without "every". A phrase without a clock is not a day phrase.
//
// Implements C-122.
func parseDayPhrase(text string) (string, bool) {
	parts := clockAtEnd.FindStringSubmatch(text)
	if parts == nil {
		return "", false
	}
	days, ok := parseDays(strings.TrimSpace(parts[1]))
	if !ok {
		return "", false
	}
	hour, minute, ok := parseClock(parts[2])
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%d %d * * %s", minute, hour, days), true
}

func parseDays(text string) (string, bool) {
	switch text {
	case "day", "daily", "everyday":
		return "*", true
	case "weekday", "weekdays":
		return "1-5", true
	case "weekend", "weekends":
		return "0,6", true
	}
	var days []int
	for _, name := range daySeparator.Split(text, -1) {
		day, ok := weekday(name)
		if !ok {
			return "", false
		}
		days = append(days, day)
	}
	slices.Sort(days)
	var out []string
	for _, day := range slices.Compact(days) {
		out = append(out, strconv.Itoa(day))
	}
	return strings.Join(out, ","), true
}

// weekday reads a day's name, plural or abbreviation; Sunday is 0.
func weekday(name string) (int, bool) {
	for day, names := range [][]string{
		{"sunday", "sun"}, {"monday", "mon"}, {"tuesday", "tue", "tues"}, {"wednesday", "wed"},
		{"thursday", "thu", "thur", "thurs"}, {"friday", "fri"}, {"saturday", "sat"},
	} {
		if slices.Contains(names, name) || name == names[0]+"s" {
			return day, true
		}
	}
	return 0, false
}

func parseClock(text string) (hour, minute int, ok bool) {
	switch text {
	case "noon", "midday":
		return 12, 0, true
	case "midnight":
		return 0, 0, true
	}
	parts := clockRow.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, false
	}
	hour, _ = strconv.Atoi(parts[1])
	minute, _ = strconv.Atoi(parts[2])
	if parts[3] != "" {
		if hour < 1 || hour > 12 {
			return 0, 0, false
		}
		hour %= 12
		if parts[3] == "pm" {
			hour += 12
		}
	}
	return hour, minute, hour < 24 && minute < 60
}

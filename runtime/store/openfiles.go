package store

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// parseOpenFiles reads the field output of lsof -F pcn: a line per field, the first character says which.
func parseOpenFiles(list io.Reader, self int) ([]Holder, error) {
	var holders []Holder
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		field, value := "", ""
		if line := lines.Text(); line != "" {
			field, value = line[:1], line[1:]
		}
		if field == "p" {
			pid, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("list open files: process %q is not a number", value)
			}
			holders = append(holders, Holder{PID: pid})
			continue
		}
		if len(holders) == 0 {
			continue
		}
		h := &holders[len(holders)-1]
		switch name := filepath.Base(value); {
		case field == "c":
			h.Command = strings.Join(strings.Fields(value), " ")
		case field == "n" && !slices.Contains(h.Files, name):
			h.Files = append(h.Files, name)
			slices.Sort(h.Files)
		}
	}
	holders = slices.DeleteFunc(holders, func(h Holder) bool { return h.PID == self || len(h.Files) == 0 })
	slices.SortFunc(holders, func(a, b Holder) int { return a.PID - b.PID })
	return holders, lines.Err()
}

// sortedNumbers returns the names that are numbers, ascending.
func sortedNumbers(names []string) []int {
	var numbers []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

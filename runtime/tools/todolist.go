package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

const (
	maxTodoItems = 100
	// maxTodoFiles bounds how many sessions' lists are kept; the one changed longest ago goes first.
	maxTodoFiles = 1000
)

type todoItem struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// todoFile is one session's list on disk.
type todoFile struct {
	Session string     `json:"session"`
	Items   []todoItem `json:"items"`
}

var todoMarks = map[string]string{"pending": "[ ]", "in_progress": "[>]", "done": "[x]", "cancelled": "[-]"}

func (s *Set) todoTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "todo_list",
			Description: "Keep the list of what is to do in this session. With items: replace the list. Without: show it. It outlives restarts and shortened histories.",
			Parameters: object(map[string]any{
				"items": map[string]any{
					"type": "array", "maxItems": maxTodoItems, "description": "The complete new list, in order.",
					"items": object(map[string]any{
						"text":   map[string]any{"type": "string", "minLength": 1, "maxLength": 500, "description": "What is to do."},
						"status": oneOf("How far it is.", "pending", "in_progress", "done", "cancelled"),
					}, "text", "status"),
				},
			}),
		},
		Toolset: toolsetTodo,
		Plan:    func(Call) (Plan, error) { return Plan{Summary: "keep the list of what is to do", ReadOnly: true}, nil },
		Handler: s.todoList,
	}
}

// todoList keeps each list in a file of its own and not in the transcript, so that a history that is shortened does not
// shorten it.
func (s *Set) todoList(_ context.Context, c Call) (Result, error) {
	a, err := decode[struct {
		Items *[]todoItem `json:"items"`
	}](c)
	if err != nil {
		return Result{}, err
	}
	path := todoPath(s.config.Home, c.session)
	defer s.editing.lock(path)()
	if a.Items == nil {
		items, err := readTodo(path)
		return Result{Content: renderTodo(items)}, err
	}
	for i := range *a.Items {
		(*a.Items)[i].Text = flat((*a.Items)[i].Text)
	}
	if len(*a.Items) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Result{}, fmt.Errorf("the list could not be kept: %w", plain(err))
		}
		return Result{Content: renderTodo(nil)}, nil
	}
	raw, err := json.Marshal(todoFile{Session: c.session, Items: *a.Items})
	if err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Result{}, fmt.Errorf("the list could not be kept: %w", plain(err))
	}
	if err := renameio.WriteFile(path, raw, 0o600); err != nil {
		return Result{}, fmt.Errorf("the list could not be kept: %w", plain(err))
	}
	if err := pruneOldest(filepath.Dir(path), maxTodoFiles); err != nil {
		s.config.Log.Error(err, "old lists could not be removed")
	}
	return Result{Content: renderTodo(*a.Items)}, nil
}

func readTodo(path string) ([]todoItem, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file todoFile
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("the list cannot be read (%w): write it anew", plain(err))
	}
	return file.Items, nil
}

func renderTodo(items []todoItem) string {
	if len(items) == 0 {
		return "[the list is empty]"
	}
	var out strings.Builder
	open := 0
	for i, item := range items {
		fmt.Fprintf(&out, "%d. %s %s\n", i+1, todoMarks[item.Status], item.Text)
		if item.Status == "pending" || item.Status == "in_progress" {
			open++
		}
	}
	fmt.Fprintf(&out, "[%d of %d open]", open, len(items))
	return out.String()
}

// todoPath is where a session's list lies. Session ids come from outside, so the name is their hash.
func todoPath(home, session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(home, "sessions", "todo", hex.EncodeToString(sum[:16])+".json")
}

// ForgetSession removes what the tools keep for a session that is deleted.
func ForgetSession(home, session string) error {
	err := os.Remove(todoPath(home, session))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pruneOldest removes the files that were changed longest ago until keep are left.
func pruneOldest(dir string, keep int) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= keep {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var errs []error
	for _, f := range files[min(keep, len(files)):] {
		errs = append(errs, os.Remove(filepath.Join(dir, f.Name())))
	}
	return errors.Join(errs...)
}

package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxNotesFile is the largest memory file that is read, in bytes. A person may write more than the tool would.
const maxNotesFile = 64 << 10

// notebook is one of the two memory files.
type notebook struct {
	target, file, title string
	limit               int
}

func (s *Set) notebook(target string) notebook {
	if target == "user" {
		return notebook{"user", "memories/USER.md", "What you know about the person", orDefault(s.config.UserLimit, defaultUserLimit)}
	}
	return notebook{"memory", "memories/MEMORY.md", "Your notes", orDefault(s.config.MemoryLimit, defaultMemoryLimit)}
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

type memoryArgs struct {
	Action string `json:"action"`
	Target string `json:"target"`
	Text   string `json:"text"`
	Old    string `json:"old_text"`
}

func (s *Set) memoryTool() Tool {
	return Tool{
		Definition: Definition{
			Name: "memory",
			Description: "Keep short notes that later sessions begin with: facts that last, not what this task needs. " +
				"They are in the system prompt as they were when the session began; what you change now shows in the next one.",
			Parameters: object(map[string]any{
				"action":   oneOf("What to do.", "add", "replace", "remove", "read"),
				"target":   oneOf("memory: your own notes. user: who the person is and what they like. Default memory.", "memory", "user"),
				"text":     anyText("add, replace: the note."),
				"old_text": anyText("replace, remove: a passage that only the note meant contains."),
			}, "action"),
		},
		Toolset: toolsetMemory,
		Plan:    func(Call) (Plan, error) { return Plan{Summary: "keep a note", ReadOnly: true}, nil },
		Handler: s.memoryCall,
	}
}

func (s *Set) memoryCall(_ context.Context, c Call) (Result, error) {
	a, err := decode[memoryArgs](c)
	if err != nil {
		return Result{}, err
	}
	book := s.notebook(a.Target)
	defer s.editing.lock(filepath.Join(s.config.Home, book.file))()
	before, err := s.readNotes(book)
	if err != nil {
		return Result{}, err
	}
	if a.Action == "read" {
		return Result{Content: book.render(before)}, nil
	}
	if s.config.Declared != nil && s.config.Declared(book.file) {
		return Result{}, fmt.Errorf("%s is declared in the profile, so it is changed there (spec.homeFiles) and not by you", book.file)
	}
	after, err := before.change(a.Action, a.Text, a.Old, book.limit)
	if err != nil {
		return Result{}, err
	}
	if after.String() != before.String() {
		if err := s.writeNotes(book, after); err != nil {
			return Result{}, fmt.Errorf("the note could not be kept: %w", plain(err))
		}
	}
	return Result{Content: book.render(after)}, nil
}

func (b notebook) render(n notes) string {
	if len(n) == 0 {
		return fmt.Sprintf("[%s: no notes; 0 of %d characters]", b.file, b.limit)
	}
	return fmt.Sprintf("%s[%s: %d notes; %d of %d characters]", n, b.file, len(n), n.chars(), b.limit)
}

// readNotes reads a memory file below the home. Links may not lead out of it: what is in a prompt can be asked for.
func (s *Set) readNotes(b notebook) (notes, error) {
	box := s.ownBox(s.config.Home)
	raw, err := s.readOwn(box, b.file, maxNotesFile)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseNotes(strings.ToValidUTF8(string(raw), "\uFFFD")), nil
}

func (s *Set) writeNotes(b notebook, n notes) error {
	root, err := os.OpenRoot(s.config.Home)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(b.file), 0o700); err != nil {
		return err
	}
	_, err = s.replaceFile(root, b.file, []byte(n.String()))
	return err
}

// memoryPrompt is the section of the system prompt with the notes as they are now.
func (s *Set) memoryPrompt() string {
	var out strings.Builder
	for _, target := range []string{"memory", "user"} {
		book := s.notebook(target)
		n, err := s.readNotes(book)
		switch {
		case err != nil: // what a tool can write must not keep the profile from answering
			fmt.Fprintf(&out, "# %s\n\n%s was not read: %v\n\n", book.title, book.file, err)
		case len(n) > 0:
			fmt.Fprintf(&out, "# %s (%s)\n\n%s\n", book.title, book.file, sanitize(clip(n.String(), 4*book.limit+len(noteMark))))
		}
	}
	return strings.TrimSpace(out.String())
}

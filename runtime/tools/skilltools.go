package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxSkillPrompt bounds the list of skills in the system prompt, in bytes.
	maxSkillPrompt = 8 << 10
	// maxSkillFiles is how many files of a skill are named.
	maxSkillFiles = 100
)

func (s *Set) skillsListTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "skills_list",
			Description: "List the skills: instructions for recurring work, by name, with what each is for. skill_view reads one.",
			Parameters:  object(map[string]any{"all": boolean("Also those that are not offered here, with the reason.")}),
		},
		Toolset: toolsetSkills,
		Plan:    func(Call) (Plan, error) { return Plan{Summary: "list skills", ReadOnly: true}, nil },
		Handler: func(ctx context.Context, c Call) (Result, error) {
			a, err := decode[struct{ All bool }](c)
			if err != nil {
				return Result{}, err
			}
			found, err := s.findSkills(ctx)
			if err != nil {
				return Result{}, err
			}
			return Result{Content: s.bounded(s.listSkills(found, a.All))}, nil
		},
	}
}

func (s *Set) listSkills(found []skill, all bool) string {
	var out strings.Builder
	for _, k := range found {
		switch {
		case k.hidden == "":
			fmt.Fprintf(&out, "%s: %s\n", k.name, k.meta.Description)
		case all:
			fmt.Fprintf(&out, "%s (not offered: %s): %s\n", k.name, k.hidden, k.meta.Description)
		}
		if k.meta.Degraded != "" && (all || k.hidden == "") {
			fmt.Fprintf(&out, "  [%s]\n", k.meta.Degraded)
		}
	}
	for _, name := range s.config.Skills.Enabled {
		if !slices.ContainsFunc(found, func(k skill) bool { return k.name == name }) {
			fmt.Fprintf(&out, "%s (named in spec.skills, but there is none)\n", oneLine(name))
		}
	}
	if out.Len() == 0 {
		return "[there are no skills]"
	}
	return out.String()
}

func (s *Set) skillViewTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "skill_view",
			Description: "Read a skill, or one of the files that belong to it. Read it before doing what it is for.",
			Parameters: object(map[string]any{
				"name": text("The skill."),
				"file": text("A file of the skill, relative to it. Default SKILL.md."),
			}, "name"),
		},
		Toolset: toolsetSkills,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[skillArgs](c)
			return Plan{Summary: "read skill " + oneLine(a.Name), ReadOnly: true}, err
		},
		Handler: s.skillView,
	}
}

type skillArgs struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Action  string `json:"action"`
	Content string `json:"content"`
}

// skillView shows a skill whether it is offered or not, unless it cannot work here.
//
// Implements T21 for explicit views.
func (s *Set) skillView(ctx context.Context, c Call) (Result, error) {
	a, err := decode[skillArgs](c)
	if err != nil {
		return Result{}, err
	}
	k, err := s.skillNamed(ctx, a.Name)
	if err != nil {
		return Result{}, err
	}
	if k.unusable != "" {
		return Result{}, fmt.Errorf("skill %s cannot be used here: %s", k.name, k.unusable)
	}
	if a.File == "" {
		a.File = skillFile
	}
	box := s.ownBox(k.dir)
	raw, err := s.readOwn(box, a.File, maxSkillBytes)
	if err != nil {
		return Result{}, err
	}
	content := s.bounded(string(raw))
	if a.File == skillFile {
		content += s.skillExtras(k)
	}
	return Result{Content: content}, nil
}

// skillExtras names what belongs to a skill and what it asks for.
func (s *Set) skillExtras(k skill) string {
	var out strings.Builder
	root, err := os.OpenRoot(k.dir)
	if err == nil {
		defer root.Close()
		n := 0
		_ = fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || rel == skillFile {
				if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && rel != "." {
					return fs.SkipDir
				}
				return nil
			}
			if n++; n > maxSkillFiles {
				fmt.Fprintf(&out, "\n[more files are not named]")
				return fs.SkipAll
			}
			fmt.Fprintf(&out, "\n[file: %s]", oneLine(rel))
			return nil
		})
	}
	for _, name := range k.meta.RequiredVariables {
		if !slices.ContainsFunc(s.config.Environ, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			fmt.Fprintf(&out, "\n[it needs the environment variable %s, which is not set: spec.env of the profile sets it]", oneLine(name))
		}
	}
	return out.String()
}

func (s *Set) skillNamed(ctx context.Context, name string) (skill, error) {
	found, err := s.findSkills(ctx)
	if err != nil {
		return skill{}, err
	}
	var names []string
	for _, k := range found {
		if k.name == name {
			return k, nil
		}
		if k.hidden == "" {
			names = append(names, k.name)
		}
	}
	return skill{}, fmt.Errorf("there is no skill %q; there are: %s", clip(oneLine(name), 64), strings.Join(names, ", "))
}

func (s *Set) skillManageTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "skill_manage",
			Description: "Write or delete a file of one of your own skills, so that what you have learned is there the next time. SKILL.md begins with front matter: name and description between two lines ---.",
			Parameters: object(map[string]any{
				"action":  oneOf("What to do. Deleting SKILL.md deletes the skill with its files.", "write", "delete"),
				"name":    text("The skill: letters, digits, '_' and '-'."),
				"file":    text("The file, relative to the skill. Default SKILL.md."),
				"content": map[string]any{"type": "string", "maxLength": maxSkillBytes, "description": "write: the complete text."},
			}, "action", "name"),
		},
		Toolset:  toolsetSkills,
		Approval: ApprovalPerTool,
		Plan: func(c Call) (Plan, error) {
			a, err := s.ownSkill(c)
			return Plan{Summary: fmt.Sprintf("%s %s of skill %s", a.Action, oneLine(a.File), oneLine(a.Name))}, err
		},
		Handler: s.skillManage,
	}
}

// ownSkill judges a change before anybody is asked about it.
func (s *Set) ownSkill(c Call) (skillArgs, error) {
	a, err := decode[skillArgs](c)
	if err != nil {
		return a, err
	}
	if a.File == "" {
		a.File = skillFile
	}
	rel := filepath.Join("skills", a.Name, a.File)
	switch {
	case !toolName.MatchString(a.Name) || notSkills[strings.ToLower(a.Name)]:
		return a, fmt.Errorf("%q cannot be the name of a skill: use letters, digits, '_' and '-'", oneLine(a.Name))
	case !filepath.IsLocal(a.File):
		return a, errors.New("file must be a path below the skill")
	case s.config.Declared != nil && (s.config.Declared(rel) || s.config.Declared(filepath.Join("skills", a.Name, skillFile))):
		return a, fmt.Errorf("skill %s is declared in the profile, so it is changed there (spec.homeFiles) and not by you", a.Name)
	}
	if a.Action == "write" && a.File == skillFile {
		meta, body := parseSkill(a.Content)
		switch {
		case meta.Degraded != "":
			return a, errors.New(meta.Degraded)
		case meta.Name != a.Name || meta.Description == "" || strings.TrimSpace(body) == "":
			return a, fmt.Errorf("SKILL.md must begin with a line ---, then name: %s, a description, a line ---, and then the instructions", a.Name)
		}
	}
	return a, nil
}

func (s *Set) skillManage(_ context.Context, c Call) (Result, error) {
	a, err := s.ownSkill(c)
	if err != nil {
		return Result{}, err
	}
	root, err := os.OpenRoot(s.config.Home)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	dir := filepath.Join("skills", a.Name)
	rel := filepath.Join(dir, a.File)
	defer s.editing.lock(filepath.Join(s.config.Home, dir))()
	if a.Action == "delete" {
		if _, err := root.Lstat(rel); err != nil {
			return Result{}, fmt.Errorf("skills/%s/%s: %w", a.Name, a.File, plain(err))
		}
		if a.File == skillFile {
			rel = dir
		}
		if err := root.RemoveAll(rel); err != nil {
			return Result{}, fmt.Errorf("skills/%s: %w", a.Name, plain(err))
		}
		return Result{Content: "deleted " + rel}, nil
	}
	box := s.ownBox(s.config.Home)
	p, err := box.admit(rel, writing)
	if err == nil && p.rel != rel {
		err = errors.New("it is reached through a link, which is not written through")
	}
	if err == nil {
		err = root.MkdirAll(filepath.Dir(rel), 0o755)
	}
	if err == nil {
		_, err = s.replaceFile(root, rel, []byte(a.Content))
	}
	if err != nil {
		return Result{}, fmt.Errorf("skills/%s/%s: %w", a.Name, a.File, plain(err))
	}
	return Result{Content: "wrote " + rel + "; sessions that begin from now on are offered it"}, nil
}

// skillPrompt is the section of the system prompt with the skills on offer, sorted by name.
func (s *Set) skillPrompt(ctx context.Context) string {
	found, err := s.findSkills(ctx)
	if err != nil {
		return "# Skills\n\nThe skills were not read: " + oneLine(err.Error())
	}
	var out strings.Builder
	left := 0
	for _, k := range found {
		line := fmt.Sprintf("- %s: %s\n", k.name, k.meta.Description)
		switch {
		case k.hidden != "":
		case out.Len()+len(line) > maxSkillPrompt:
			left++
		default:
			out.WriteString(line)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	if left > 0 {
		fmt.Fprintf(&out, "- and %d more: call skills_list\n", left)
	}
	return "# Skills\n\nInstructions for recurring work. Before doing what one is for, read it with skill_view.\n\n" + strings.TrimSpace(out.String())
}

// Prompt is what the tools add to the system prompt of a new session: the notes of the memory and the skills on offer,
// as they are now. It is empty when there is nothing to add. Building it once per session keeps the prompt's prefix
// the same from turn to turn.
func (s *Set) Prompt(ctx context.Context) string {
	var parts []string
	add := func(tool string, section func() string) {
		if e, ok := s.registry.lookup(tool); ok && s.offered(e) {
			if text := section(); text != "" {
				parts = append(parts, text)
			}
		}
	}
	add("memory", s.memoryPrompt)
	add("skill_view", func() string { return s.skillPrompt(ctx) })
	return strings.Join(parts, "\n\n")
}

package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	skillFile = "SKILL.md"
	// maxSkills and maxSkillDepth bound the scan, maxSkillBytes one file of a skill.
	maxSkills     = 500
	maxSkillDepth = 8
	maxSkillBytes = 256 << 10
)

// SkillConfig says which skills are offered, and where else they are.
type SkillConfig struct {
	// Enabled names the skills to offer, whatever they would need (skills.enabled); empty offers every skill whose
	// gates let it through.
	Enabled []string
	// Plugins are skill directories of plugins by the plugin's name; their skills are called plugin:skill (T24).
	Plugins map[string]string
	// HasApp reports whether an application is on this host; nil means that none is known.
	HasApp func(name string) bool
}

// skill is one that was found.
type skill struct {
	name string
	// box holds the skill's directory and nothing else.
	dir  string
	meta skillMeta
	// hidden says why it is not offered, unusable why it cannot be used at all.
	hidden, unusable string
}

// notSkills are directories below a skill or a skills directory that hold no skills of their own.
//
// Implements T23.
var notSkills = map[string]bool{
	"references": true, "templates": true, "assets": true, "scripts": true,
	".git": true, ".hg": true, ".svn": true, ".jj": true, ".venv": true, "venv": true, "node_modules": true,
	"__pycache__": true, ".cache": true, "cache": true, ".mypy_cache": true, ".pytest_cache": true, ".tox": true, ".archive": true,
}

// findSkills scans the home's skills and those of plugins, sorted by name. Of two with one name the one with the
// shorter path counts.
func (s *Set) findSkills(ctx context.Context) ([]skill, error) {
	var found []skill
	sources := []struct{ prefix, dir string }{{"", filepath.Join(s.config.Home, "skills")}}
	for plugin, dir := range s.config.Skills.Plugins {
		sources = append(sources, struct{ prefix, dir string }{plugin + ":", dir})
	}
	for _, source := range sources {
		// The directory itself may be a link that a person has made; what is below is not followed.
		dir, err := filepath.EvalSymlinks(source.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("skills: %w", err)
		}
		list, err := s.scanSkills(ctx, dir, source.prefix)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	slices.SortStableFunc(found, func(a, b skill) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.dir), len(b.dir)), strings.Compare(a.dir, b.dir))
	})
	found = slices.CompactFunc(found, func(a, b skill) bool { return a.name == b.name })
	s.gateSkills(found)
	return found, nil
}

func (s *Set) scanSkills(ctx context.Context, dir, prefix string) ([]skill, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("skills: %w", plain(err))
	}
	defer root.Close()
	var found []skill
	err = fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // a directory that cannot be read holds no skills for us
		case d.IsDir() && rel != "." && (notSkills[strings.ToLower(d.Name())] || strings.Count(rel, "/") >= maxSkillDepth):
			return fs.SkipDir
		case d.IsDir() || d.Name() != skillFile || rel == skillFile:
			return nil
		}
		at := filepath.Join(dir, path.Dir(rel))
		raw, err := s.readOwn(s.ownBox(at), skillFile, maxSkillBytes)
		if err != nil {
			s.config.Log.Info("a skill cannot be read", "skill", rel, "error", err.Error())
			return nil
		}
		meta, body := parseSkill(string(raw))
		found = append(found, skill{name: prefix + skillName(meta.Name, path.Base(path.Dir(rel))), dir: at, meta: meta.described(body)})
		if len(found) == maxSkills {
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}

// skillName is the declared name when it can be one, else the directory's.
func skillName(declared, dir string) string {
	if toolName.MatchString(declared) {
		return declared
	}
	return flat(dir)
}

// described gives a skill without a description the first line of its text.
func (m skillMeta) described(body string) skillMeta {
	if m.Description == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
		m.Description = flat(strings.TrimLeft(line, "# "))
	}
	m.Description = clip(sanitize(m.Description), 300)
	return m
}

func (s *Set) gateSkills(found []skill) {
	facts := s.skillFacts()
	enabled := s.config.Skills.Enabled
	for i := range found {
		k := &found[i]
		var ok bool
		if ok, k.unusable = k.meta.usable(facts); !ok {
			k.hidden = k.unusable
			continue
		}
		if len(enabled) > 0 {
			if !slices.Contains(enabled, k.name) {
				k.hidden = "it is not named in spec.skills"
			}
			continue // who names a skill wants it, whatever its gates say
		}
		_, k.hidden = k.meta.offered(facts)
	}
}

func (s *Set) skillFacts() skillFacts {
	return skillFacts{
		platform: runtime.GOOS,
		environment: func(name string) (present, known bool) {
			switch name {
			case "kanban":
				return s.toolsets.enabled("kanban", ""), true
			case "docker":
				return exists("/.dockerenv") || exists("/run/.containerenv"), true
			case "s6":
				return exists("/run/s6"), true
			}
			return false, false
		},
		app: func(name string) bool { return s.config.Skills.HasApp != nil && s.config.Skills.HasApp(name) },
		toolset: func(name string) bool {
			return slices.ContainsFunc(s.registry.selected(s.offered), func(e *entry) bool { return e.Toolset == name })
		},
		tool: func(name string) bool {
			e, ok := s.registry.lookup(name)
			return ok && s.offered(e)
		},
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

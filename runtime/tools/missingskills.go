package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
)

// MissingSkills says which skills a configuration names (spec.skills) that no skill of the home goes by, and what there
// is instead; "" when all are there. It reads the skills below home and changes nothing.
func MissingSkills(ctx context.Context, home string, c SkillConfig) string {
	if len(c.Enabled) == 0 {
		return ""
	}
	s := &Set{config: Config{Home: home, Skills: c, Log: logr.Discard()}, registry: newRegistry(), sandbox: sandbox{home: home}}
	return s.missingSkills(ctx)
}

func (s *Set) missingSkills(ctx context.Context) string {
	if len(s.config.Skills.Enabled) == 0 {
		return ""
	}
	found, err := s.findSkills(ctx)
	if err != nil {
		return err.Error()
	}
	var names, missing []string
	for _, k := range found {
		names = append(names, k.name)
	}
	for _, name := range s.config.Skills.Enabled {
		if !slices.Contains(names, name) {
			missing = append(missing, fmt.Sprintf("%q", clip(oneLine(name), 64)))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.skills names %s, and no skill in skills/ of the home is called that; %s", strings.Join(missing, ", "), thereAre(names))
}

// thereAre lists the skills that can be named.
func thereAre(names []string) string {
	if len(names) == 0 {
		return "there are no skills"
	}
	return "there are: " + strings.Join(names, ", ")
}

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

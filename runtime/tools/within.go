package tools

import "slices"

// Within says which tools of the set belong to some toolsets, without those of others: for work that gets a part of what
// the profile has. It never names a tool that the profile's own selection leaves out. An unknown toolset is an error.
func (s *Set) Within(toolsets, without []string) (func(name string) bool, error) {
	part, err := selectToolsets(toolsets, nil, s.config.CustomToolsets)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		e, ok := s.registry.lookup(name)
		return ok && s.offered(e) && !slices.Contains(without, e.Toolset) && part.enabled(e.Toolset, e.Name)
	}, nil
}

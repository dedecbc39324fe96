package tools

// ReadOnly reports whether a call of an offered tool changes nothing, so that running it twice is the same as running
// it once. A call that cannot be understood is not.
func (s *Set) ReadOnly(c Call) bool {
	e, ok := s.registry.lookup(c.Name)
	if !ok || e.Plan == nil || !s.offered(e) {
		return false
	}
	args, err := checkArguments(e, c.Arguments)
	if err != nil {
		return false
	}
	c.Arguments = args
	plan, err := e.Plan(c)
	return err == nil && plan.ReadOnly
}

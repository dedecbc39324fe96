package v1alpha1

// Equal reports whether two looks at a session store saw the same figures; nil is no look.
func (s *StoreStatus) Equal(o *StoreStatus) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.SchemaVersion == o.SchemaVersion && s.SizeBytes == o.SizeBytes && s.Sessions == o.Sessions && s.LastActivity.Equal(o.LastActivity)
}

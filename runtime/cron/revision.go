package cron

import "fmt"

// Revision names the state of the job file: it differs after every change, whoever made it. It costs one stat.
func (s *Store) Revision() (string, error) {
	found, err := stampFile(s.inDir(jobsFile))
	if err != nil {
		return "", fmt.Errorf("cron store: %w", err)
	}
	return fmt.Sprint(found), nil
}

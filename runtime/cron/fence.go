package cron

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// fence takes the fence of one job and fails when it is not to be had: whoever fires or delivers without it might do so
// twice. It may be held across a delivery over the network, and no heartbeat may need it.
//
// The lock belongs to the open file, so it keeps goroutines of this process apart as well as processes.
//
// Implements C-158.
func (s *Store) fence(ctx context.Context, id string) (release func(), err error) {
	if err := makeDir(s.dir); err != nil {
		return nil, fmt.Errorf("fence of job %s: %w", id, err)
	}
	name := uuid.NewSHA1(uuid.NameSpaceOID, []byte("hermes-cron-job:"+id))
	release, err = fileLock(ctx, s.inDir(".fire-"+name.String()+".lock"), s.options.LockPatience)
	if err != nil {
		return nil, fmt.Errorf("fence of job %s: %w", id, err)
	}
	return release, nil
}

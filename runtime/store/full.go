package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// explainFull says of a full disk where room is needed and how much there is; every other error stays as it is. Nothing is
// lost by it: the write that met it was rolled back, and the next one succeeds once there is room.
func explainFull(path string, err error) error {
	code, _ := resultCode(err)
	if err == nil || code&0xff != codeFull && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return fmt.Errorf("no space left for %s: free some in %s, where %s are free, or raise its quota, then try again: nothing that was stored "+
		"is lost (%w)", filepath.Base(path), filepath.Dir(path), megabytes(freeBytes(path)), err)
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n>>20) }

package session

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"time"
)

const idTime = "20060102_150405"

// Ten random hexadecimal digits follow the second: two strangers' sessions must not
// meet in one id, whatever the rate at which an API client makes them.
const idRandomBytes = 5

// idForm also takes the six digits that other programs of this store format write.
var idForm = regexp.MustCompile(`^\d{8}_\d{6}_(?:[0-9a-f]{6}|[0-9a-f]{10})$`)

// NewID draws a session id such as 20261129_215501_ab12cd34ef. Ids sort by the
// second they were made in, in UTC. random is usually crypto/rand.Reader; its
// error is returned.
func NewID(now time.Time, random io.Reader) (string, error) {
	if random == nil {
		random = rand.Reader
	}
	var b [idRandomBytes]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("session id: %w", err)
	}
	return now.UTC().Format(idTime) + "_" + hex.EncodeToString(b[:]), nil
}

// ParseID checks the form of a session id and gives the second it was made
// in, in UTC. Ids of other systems are valid store keys but have no time; for
// them it returns an error.
func ParseID(id string) (time.Time, error) {
	if !idForm.MatchString(id) {
		return time.Time{}, fmt.Errorf("session id %q does not have the form YYYYMMDD_HHMMSS_xxxxxxxxxx", id)
	}
	made, err := time.Parse(idTime, id[:len(idTime)])
	if err != nil {
		return time.Time{}, fmt.Errorf("session id %q holds no valid time", id)
	}
	return made, nil
}

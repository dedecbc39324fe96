package llm

import (
	"context"
	"crypto/sha256"
	"sync"
)

// KeySource gives the keys that are valid now, best first. It is asked before every attempt, so a revoked key is not
// used again even in the middle of a request that is being retried.
type KeySource func(ctx context.Context) ([]string, error)

// StaticKeys is a KeySource for keys that never change.
func StaticKeys(keys ...string) KeySource {
	return func(context.Context) ([]string, error) { return keys, nil }
}

// fingerprint stands for a key where one must be remembered: the key itself is never kept.
type fingerprint [sha256.Size]byte

func printOf(key string) fingerprint { return sha256.Sum256([]byte(key)) }

// lastGood remembers which key answered last, so that a refused one is not tried first for every request.
type lastGood struct {
	mu sync.Mutex
	fp fingerprint
	ok bool
}

func (l *lastGood) get() (fingerprint, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fp, l.ok
}

func (l *lastGood) set(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fp, l.ok = printOf(key), true
}

// pickKey chooses from the keys that are valid now: the current one while it is valid and not used up, else the next
// after it in the list that is not used up. fresh is how many further keys remain after that choice.
func pickKey(keys []string, current fingerprint, used map[fingerprint]bool) (key string, fresh int, ok bool) {
	start := 0
	for i, k := range keys {
		if k != "" && printOf(k) == current {
			start = i
			break
		}
	}
	seen := map[fingerprint]bool{}
	for i := range keys {
		k := keys[(start+i)%len(keys)]
		fp := printOf(k)
		if k == "" || used[fp] || seen[fp] {
			continue
		}
		seen[fp] = true
		if !ok {
			key, ok = k, true
			continue
		}
		fresh++
	}
	return key, fresh, ok
}

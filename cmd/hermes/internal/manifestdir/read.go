package manifestdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hermes.dev/hermes/cmd/hermes/internal/manifests"
)

// content is a directory as read at one moment.
type content struct {
	docs []manifests.Document
	// digest of every name and byte; "" when something could not be read.
	digest string
}

// read collects the documents of a directory. A directory without a file is an empty set; one that cannot
// be read is a broken one, so that nothing is pruned because a disk is not mounted.
func read(dir string) content {
	files, err := manifests.Files(dir)
	if err != nil {
		return content{docs: []manifests.Document{{File: dir, Err: plain(err)}}}
	}
	var c content
	sum, complete := sha256.New(), true
	for _, file := range files {
		raw, err := manifests.ReadFile(file)
		if err != nil {
			c.docs = append(c.docs, manifests.Document{File: file, Err: err})
			complete = false
			continue
		}
		fmt.Fprintf(sum, "%s\x00%d\x00", file, len(raw))
		sum.Write(raw)
		docs := manifests.Parse(file, raw)
		if len(docs) == 0 {
			// An empty file is what a copy looks like before its first byte: no reason to prune.
			docs = []manifests.Document{{File: file, Err: errors.New("is empty: remove the file if nothing is to be declared")}}
		}
		c.docs = append(c.docs, docs...)
	}
	if complete {
		c.digest = hex.EncodeToString(sum.Sum(nil))
	}
	return c
}

// plain is a filesystem's error without the path, which the position names already.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// directories lists a directory and those below it that may hold manifests.
func directories(dir string) []string {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	var out []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // what cannot be read is found by the rescan
		}
		if path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		out = append(out, path)
		return nil
	})
	return out
}

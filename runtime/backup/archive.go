package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"hermes.dev/hermes/internal/regular"
)

// ErrDamaged means that a file is not, or not entirely, the backup it says it is.
var ErrDamaged = errors.New("is damaged or no backup: use another one")

func damaged(path string, err error) error { return fmt.Errorf("%s %w (%w)", path, ErrDamaged, err) }

// pack writes the staged files as one archive to w: the manifest first, then the files in its order.
func pack(ctx context.Context, w io.Writer, dir string, m Manifest) error {
	// One goroutine: a gateway has better things to do with its other cores.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	if err := packTar(ctx, z, dir, m); err != nil {
		_ = z.Close() // it lets go of its memory; what it says follows from err
		return err
	}
	return z.Close()
}

func packTar(ctx context.Context, w io.Writer, dir string, m Manifest) error {
	t := tar.NewWriter(w)
	text, err := m.encode()
	if err != nil {
		return err
	}
	header := func(name string, size int64, mode uint32) *tar.Header {
		return &tar.Header{Name: name, Size: size, Mode: int64(mode), ModTime: m.Created, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	}
	if err := t.WriteHeader(header(manifestName, int64(len(text)), 0o600)); err != nil {
		return err
	}
	if _, err := t.Write(text); err != nil {
		return err
	}
	for _, f := range m.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := t.WriteHeader(header(f.Path, f.Size, f.Mode)); err != nil {
			return err
		}
		if err := copyFrom(t, filepath.Join(dir, filepath.FromSlash(f.Path))); err != nil {
			return err
		}
	}
	return t.Close()
}

func copyFrom(w io.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}

// archive is a backup that is being read.
type archive struct {
	path     string
	file     *os.File
	zstd     *zstd.Decoder
	tar      *tar.Reader
	manifest Manifest
}

// openArchive opens a backup and reads its manifest.
func openArchive(path string) (_ *archive, err error) {
	file, err := regular.Open(path)
	if errors.Is(err, regular.ErrNotRegular) {
		return nil, damaged(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open backup: %w", err)
	}
	a := &archive{path: path, file: file}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.zstd, err = zstd.NewReader(file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)); err != nil {
		return nil, damaged(path, err)
	}
	a.tar = tar.NewReader(a.zstd)
	header, err := a.tar.Next()
	if err != nil {
		return nil, damaged(path, err)
	}
	if header.Name != manifestName || header.Size > maxManifest {
		return nil, damaged(path, fmt.Errorf("it begins with %q", header.Name))
	}
	text, err := io.ReadAll(a.tar)
	if err != nil {
		return nil, damaged(path, err)
	}
	if a.manifest, err = decodeManifest(text); err != nil {
		return nil, damaged(path, err)
	}
	return a, nil
}

func (a *archive) close() {
	if a.zstd != nil {
		a.zstd.Close()
	}
	_ = a.file.Close() // it was only read
}

// each reads every file of the backup in order and checks it against the manifest. to says where the content goes; nil
// only checks. It fails when anything is missing, different, or there beyond the manifest.
func (a *archive) each(ctx context.Context, to func(File, io.Reader) error) error {
	for _, f := range a.manifest.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		header, err := a.tar.Next()
		if err != nil {
			return damaged(a.path, fmt.Errorf("%s: %w", f.Path, err))
		}
		if header.Name != f.Path || header.Size != f.Size || header.Typeflag != tar.TypeReg {
			return damaged(a.path, fmt.Errorf("%s stands where %s belongs", header.Name, f.Path))
		}
		sum := sha256.New()
		content := io.TeeReader(archiveErrors{untilDone{ctx, a.tar}}, sum)
		if to != nil {
			err = to(f, content)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, content)
		}
		var broken *unreadableError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &broken):
			return damaged(a.path, fmt.Errorf("%s: %w", f.Path, broken.err))
		case err != nil:
			return err
		case hex.EncodeToString(sum.Sum(nil)) != f.SHA256:
			return damaged(a.path, fmt.Errorf("%s has another checksum than the manifest says", f.Path))
		}
	}
	if _, err := a.tar.Next(); !errors.Is(err, io.EOF) {
		return damaged(a.path, errors.Join(errors.New("it holds more than its manifest says"), err))
	}
	// The archive ends before the file does: the rest would be somebody else's.
	if n, err := io.Copy(io.Discard, io.LimitReader(untilDone{ctx, a.zstd}, maxTrailer+1)); err != nil || n > maxTrailer {
		return damaged(a.path, errors.Join(errors.New("something follows the archive"), err))
	}
	return nil
}

// maxTrailer bounds the padding after an archive, in bytes.
const maxTrailer = 1 << 20

// untilDone ends a read of whatever length with its context: a small archive can unpack to a very large file.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// archiveErrors marks failures of reading the archive apart from those of writing its content somewhere.
type archiveErrors struct{ io.Reader }

func (r archiveErrors) Read(p []byte) (int, error) { return readErrors(r).Read(p) }

// unpackInto returns a sink that writes the files below dir.
func unpackInto(dir string) func(File, io.Reader) error {
	return func(f File, content io.Reader) error {
		to := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Chmod(unpackedMode(f)), out.Sync(), out.Close())
	}
}

// unpackedMode keeps the permission bits of a file, except of those that nobody else may read whatever an archive says.
func unpackedMode(f File) os.FileMode {
	if f.Path == storeName || f.Path == homePrefix+".env" {
		return 0o600
	}
	return os.FileMode(f.Mode&0o777 | 0o600)
}

// ReadManifest reads what a backup says it holds; it does not verify it.
func ReadManifest(path string) (Manifest, error) {
	a, err := openArchive(path)
	if err != nil {
		return Manifest{}, err
	}
	defer a.close()
	return a.manifest, nil
}

// VerifyArchive reads every byte of a backup and compares it with its manifest. The error is ErrDamaged when they
// differ.
func VerifyArchive(ctx context.Context, path string) (Manifest, error) {
	a, err := openArchive(path)
	if err != nil {
		return Manifest{}, err
	}
	defer a.close()
	return a.manifest, a.each(ctx, nil)
}

// sameManifest is false when a file that was read back says other things than what was written into it.
func sameManifest(a, b Manifest) bool {
	x, errX := a.encode()
	y, errY := b.encode()
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

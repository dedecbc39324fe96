package home

import (
	"errors"
	"fmt"

	"hermes.dev/hermes/api/v1alpha1"
)

// ErrConfigInvalid means that a key of config.yaml cannot be what the spec says.
type ErrConfigInvalid struct {
	// Key is the dotted path in config.yaml or of the spec field.
	Key string
	// Problem says what is wrong and what to change.
	Problem string
}

func (e *ErrConfigInvalid) Error() string { return fmt.Sprintf("config key %q: %s", e.Key, e.Problem) }

// ErrPathInvalid means that a declared file path cannot be written.
type ErrPathInvalid struct {
	// Path as declared.
	Path string
	// Problem says what is wrong and what to change.
	Problem string
}

func (e *ErrPathInvalid) Error() string { return fmt.Sprintf("file path %q: %s", e.Path, e.Problem) }

// ErrTooLarge means that the rendered home does not fit into one Secret.
type ErrTooLarge struct {
	// Size of the encoded bundle in bytes.
	Size int
}

func (e *ErrTooLarge) Error() string {
	return fmt.Sprintf("the rendered home is %d bytes and at most %d fit into its Secret: declare fewer or smaller files", e.Size, MaxBundleSize)
}

// ErrFileConflict means that a declared file exists on disk and was not made by us.
type ErrFileConflict struct {
	// Path on disk.
	Path string
}

func (e *ErrFileConflict) Error() string {
	return fmt.Sprintf("%s exists and was not written by hermes: move it away, or set spec.adoptExistingHome on the Gateway (a backup is made first)", e.Path)
}

// ErrHomeInUse means that the home belongs to another Profile.
type ErrHomeInUse struct {
	// Home is the directory.
	Home string
	// Owner is whose it is.
	Owner Identity
}

func (e *ErrHomeInUse) Error() string {
	return fmt.Sprintf("%s belongs to %s: use that profile, or another spec.home on the Gateway", e.Home, e.Owner)
}

// ErrNotManaged means that a directory is not a home we manage, so it is left alone.
type ErrNotManaged struct {
	// Home is the directory.
	Home string
}

func (e *ErrNotManaged) Error() string {
	return fmt.Sprintf("%s is not a home that hermes manages: nothing was removed", e.Home)
}

// ErrConfigUnreadable means that the config.yaml on disk cannot be merged with the declared keys.
type ErrConfigUnreadable struct {
	// Path on disk.
	Path string
	// Err is what is wrong with it.
	Err error
}

func (e *ErrConfigUnreadable) Error() string {
	return fmt.Sprintf("%s cannot be read as YAML (%v): correct it or move it away", e.Path, e.Err)
}

// Unwrap is the cause.
func (e *ErrConfigUnreadable) Unwrap() error { return e.Err }

// Reason is the condition reason for an error of this package.
func Reason(err error) string {
	var (
		config   *ErrConfigInvalid
		path     *ErrPathInvalid
		large    *ErrTooLarge
		conflict *ErrFileConflict
		inUse    *ErrHomeInUse
		onDisk   *ErrConfigUnreadable
	)
	switch {
	case errors.As(err, &config), errors.As(err, &onDisk):
		return v1alpha1.ReasonConfigInvalid
	case errors.As(err, &path):
		return v1alpha1.ReasonPathInvalid
	case errors.As(err, &large):
		return v1alpha1.ReasonHomeTooLarge
	case errors.As(err, &conflict):
		return v1alpha1.ReasonFileConflict
	case errors.As(err, &inUse):
		return v1alpha1.ReasonHomeInUse
	default:
		return v1alpha1.ReasonHomeWriteFailed
	}
}

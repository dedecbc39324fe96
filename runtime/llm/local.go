package llm

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
)

// IsLocal reports whether an error is a bug on our side: a value of a type or content that cannot be sent. Trying
// again cannot help, and no server is to blame. What a server garbled on the way (JSON that does not parse, a stream
// that is cut, TLS, fields of the wrong shape) is not. Implements L27.
func IsLocal(err error) bool {
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	var record tls.RecordHeaderError
	switch {
	case err == nil, errors.As(err, &syntax), errors.As(err, &shape), errors.As(err, &record),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return false
	}
	var typ *json.UnsupportedTypeError
	var value *json.UnsupportedValueError
	var marshal *json.MarshalerError
	return errors.As(err, &typ) || errors.As(err, &value) || errors.As(err, &marshal)
}

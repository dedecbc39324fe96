package localapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// bodyPatience is how long a client may take to send a body, whatever its pace.
const bodyPatience = 30 * time.Second

// boundBody gives every request that has a body patience to send it. The deadline is the connection's and outlives the
// handler: net/http reads what is left of a body before it answers, so a body that was not read to its end keeps it. It
// is the kernel's clock that a connection waits by. A writer without deadlines has no connection.
func boundBody(next http.Handler, patience time.Duration) http.Handler {
	if patience <= 0 {
		patience = bodyPatience
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
		}
		next.ServeHTTP(w, r)
	})
}

// decode reads a body that is one JSON value. Once all of it is there the connection may be silent for as long as the
// answer takes.
func decode(w http.ResponseWriter, r *http.Request, into any) *Error {
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	err := body.Decode(into)
	if err == nil {
		err = atEnd(body)
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		return nil
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error", Code: "too_large", Message: "the request is larger than 8 MiB"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return &Error{Status: http.StatusRequestTimeout, Type: "invalid_request_error", Code: "body_timeout", Message: "the request's body did not arrive in time: send all of it at once"}
	default:
		return badRequest("the request is not the JSON it should be: %v", err)
	}
}

// atEnd reads what follows the one value. A client that goes away is noticed only once all of its body was read.
func atEnd(d *json.Decoder) error {
	_, err := d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("something follows the first value")
	}
	return err
}

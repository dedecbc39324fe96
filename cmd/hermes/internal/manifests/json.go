package manifests

import (
	"bytes"
	"encoding/json"
)

// jsonValue is the length of the first JSON value in text; all of it when it does not parse, so that the
// decoder gets to say what is wrong.
func jsonValue(text []byte) int {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return len(text)
	}
	return int(decoder.InputOffset())
}

package ssa

import (
	kjson "sigs.k8s.io/json"
)

// unmarshalInts decodes JSON as the API machinery does: whole numbers become int64, not float64.
func unmarshalInts(data []byte, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

package store

import (
	"database/sql"
	"encoding/json"
	"math"
	"time"
)

// Columns keep times as Unix epoch seconds in a float, which at today's dates resolves a quarter of a microsecond;
// the way back rounds to microseconds. The zero time is NULL.

func epoch(t time.Time) float64 {
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}

func fromEpoch(seconds float64) time.Time {
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1e3).UTC()
}

func fromNullEpoch(seconds sql.NullFloat64) time.Time {
	if !seconds.Valid {
		return time.Time{}
	}
	return fromEpoch(seconds.Float64)
}

// nullText stores the empty string as NULL.
func nullText(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

func nullTexts(texts []string) []sql.NullString {
	out := make([]sql.NullString, len(texts))
	for i, text := range texts {
		out[i] = nullText(text)
	}
	return out
}

func nullInt(v *int64) sql.NullInt64 {
	if v == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: *v, Valid: true}
}

func fromNullInt(v sql.NullInt64) *int64 {
	if !v.Valid {
		return nil
	}
	return &v.Int64
}

func nullFloat(v *float64) sql.NullFloat64 {
	if v == nil {
		return sql.NullFloat64{}
	}
	return sql.NullFloat64{Float64: *v, Valid: true}
}

func fromNullFloat(v sql.NullFloat64) *float64 {
	if !v.Valid {
		return nil
	}
	return &v.Float64
}

func nullBlob(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func nullFlag(b bool) sql.NullInt64 { return sql.NullInt64{Int64: flag(b), Valid: true} }

func nullEpoch(t time.Time) sql.NullFloat64 {
	if t.IsZero() {
		return sql.NullFloat64{}
	}
	return sql.NullFloat64{Float64: epoch(t), Valid: true}
}

func rawJSON(text sql.NullString) json.RawMessage {
	if !text.Valid {
		return nil
	}
	return json.RawMessage(text.String)
}

func count(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }

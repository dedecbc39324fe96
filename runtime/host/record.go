package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Role names a kind of host-wide process that is looked up by a rendezvous record.
type Role string

// The roles of G-221.
const (
	RoleGateway      Role = "gateway"
	RoleServe        Role = "serve"
	RoleDesktopServe Role = "desktop-serve"
)

// Valid reports whether the role is one this version knows.
func (r Role) Valid() bool { return r == RoleGateway || r == RoleServe || r == RoleDesktopServe }

// RecordProtocolVersion is the version of records this package writes and trusts.
const RecordProtocolVersion = 1

// Record says which process owns a role on this host.
// Implements the keys of G-222; startTime and bootId are ours and optional: they keep an owner recognisable when the
// wall clock, and with it createTime, is stepped.
type Record struct {
	Role Role `json:"role"`
	// Home is the HERMES_HOME the owner was launched with.
	Home string `json:"home"`
	PID  int    `json:"pid"`
	// CreateTime is the owner's creation time in seconds since the epoch, nil when unknown.
	CreateTime *float64 `json:"createTime"`
	Host       string   `json:"host"`
	// Port is where an HTTP role listens, nil for none.
	Port            *int `json:"port"`
	ProtocolVersion int  `json:"protocolVersion"`
	// TokenFingerprint is [TokenFingerprint] of the token published beside the record, "" for none.
	TokenFingerprint string `json:"tokenFingerprint"`
	// Profiles is what the owner said to serve when it wrote the record: for people, never for a decision.
	Profiles []string `json:"profiles"`
	// UpdatedAt is an ISO 8601 time in UTC.
	UpdatedAt string `json:"updatedAt"`
	StartTime int64  `json:"startTime,omitempty"`
	BootID    string `json:"bootId,omitempty"`
}

// ParseRecord reads a record tolerantly: unknown members are ignored, members of a wrong type count as missing, a byte
// order mark is skipped, and a missing home means defaultRoot. ok is false when the content is not a record: no JSON
// object in UTF-8, an unknown role, a pid that is not a positive integer, or a port that is neither null nor an integer.
// Implements G-222.
func ParseRecord(data []byte, defaultRoot string) (Record, bool) {
	fields, ok := parseObject(data)
	if !ok {
		return Record{}, false
	}
	record := Record{
		Role:             Role(fields.text("role")),
		Home:             fields.text("home"),
		Host:             fields.text("host"),
		TokenFingerprint: fields.text("tokenFingerprint"),
		Profiles:         fields.texts("profiles"),
		UpdatedAt:        fields.text("updatedAt"),
		BootID:           fields.text("bootId"),
	}
	pid, pidOK := fields.pid("pid")
	port, portOK := fields.port("port")
	if !record.Role.Valid() || !pidOK || !portOK {
		return Record{}, false
	}
	record.PID, record.Port = pid, port
	if record.Home == "" {
		record.Home = defaultRoot
	}
	if record.Profiles == nil {
		record.Profiles = []string{}
	}
	if created, ok := fields.number("createTime"); ok {
		record.CreateTime = &created
	}
	if version, ok := fields.integer("protocolVersion"); ok && version == RecordProtocolVersion {
		record.ProtocolVersion = RecordProtocolVersion
	}
	if start, ok := fields.integer("startTime"); ok && start > 0 {
		record.StartTime = start
	}
	return record, true
}

// port returns a TCP port member, nil when it is missing or null. ok is false when it is anything but a port.
func (f jsonFields) port(key string) (port *int, ok bool) {
	if f.absent(key) {
		return nil, true
	}
	n, ok := f.integer(key)
	if !ok || n < 0 || n > 65535 {
		return nil, false
	}
	p := int(n)
	return &p, true
}

// encode writes the record as one JSON object. A nil list becomes an empty one: the key is always there.
func (r Record) encode() ([]byte, error) {
	r.Profiles = slices.Clone(r.Profiles)
	if r.Profiles == nil {
		r.Profiles = []string{}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// TokenFingerprint returns the first 16 hex digits of the token's SHA-256, or "" for no token.
// Implements G-222.
func TokenFingerprint(token string) string {
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])[:16]
}

// stamp is how times are written into records: ISO 8601 in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

package session

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeStored gives the stored form of a source.
//
//
func EncodeStored(s Source) ([]byte, error) { return json.Marshal(s) }

// DecodeStored reads a stored source. It accepts what older rows hold: guild_id
// in place of a missing scope_id, ids written as JSON numbers (their decimal
// text is kept exactly), and nulls, which read as absent. Unknown fields are
// ignored.
//
//
func DecodeStored(raw []byte) (Source, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return Source{}, fmt.Errorf("stored session source: %w", err)
	}
	var s Source
	for name, field := range map[string]*string{
		"platform": &s.Platform, "chat_id": &s.ChatID, "chat_type": &s.ChatType, "chat_name": &s.ChatName, "chat_topic": &s.ChatTopic,
		"user_id": &s.UserID, "user_id_alt": &s.UserIDAlt, "user_name": &s.UserName, "thread_id": &s.ThreadID, "chat_id_alt": &s.ChatIDAlt,
		"scope_id": &s.ScopeID, "parent_chat_id": &s.ParentChatID, "message_id": &s.MessageID, "profile": &s.Profile,
		"auto_thread_initial_name": &s.AutoThreadInitialName, "prospective_thread_id": &s.ProspectiveThreadID,
	} {
		if err := decodeText(fields[name], field); err != nil {
			return Source{}, fmt.Errorf("stored session source: %s: %w", name, err)
		}
	}
	if s.ScopeID == "" {
		if err := decodeText(fields["guild_id"], &s.ScopeID); err != nil {
			return Source{}, fmt.Errorf("stored session source: guild_id: %w", err)
		}
	}
	for name, field := range map[string]*bool{"auto_thread_created": &s.AutoThreadCreated, "is_bot": &s.IsBot} {
		if raw := fields[name]; raw != nil {
			if err := json.Unmarshal(raw, field); err != nil {
				return Source{}, fmt.Errorf("stored session source: %s: %w", name, err)
			}
		}
	}
	return s, nil
}

// decodeText reads a string, the literal text of a number, or nothing.
func decodeText(raw json.RawMessage, into *string) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && (raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9')) {
		*into = string(raw)
		return nil
	}
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

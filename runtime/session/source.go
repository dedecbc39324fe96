package session

// Platforms of messages that do not come from a chat connector, and the
// fallback for a connector's unknown platform.
const (
	PlatformCLI   = "cli"
	PlatformAPI   = "api"
	PlatformRelay = "relay"
)

// Chat types a source may have. The zero value means TypeDM.
const (
	TypeDM      = "dm"
	TypeGroup   = "group"
	TypeChannel = "channel"
	TypeThread  = "thread"
	TypeForum   = "forum"
)

// Source says where a message came from. Empty text means that the platform
// did not say. The JSON form is the stored form of R-66; frames of the relay
// have their own decoding.
type Source struct {
	// Platform is the logical platform, never the transport.
	Platform string `json:"platform"`
	ChatID   string `json:"chat_id"`
	// ChatType is one of the Type constants; a platform's own word is kept.
	ChatType string `json:"chat_type"`
	// ChatName and ChatTopic are for display only.
	ChatName  string `json:"chat_name,omitempty"`
	ChatTopic string `json:"chat_topic,omitempty"`
	// UserID is the author; UserIDAlt is a steadier id of the same person.
	UserID    string `json:"user_id,omitempty"`
	UserIDAlt string `json:"user_id_alt,omitempty"`
	UserName  string `json:"user_name,omitempty"`
	ThreadID  string `json:"thread_id,omitempty"`
	ChatIDAlt string `json:"chat_id_alt,omitempty"`
	// ScopeID is the guild, workspace or server.
	ScopeID      string `json:"scope_id,omitempty"`
	ParentChatID string `json:"parent_chat_id,omitempty"`
	// MessageID is the message that triggered the turn.
	MessageID string `json:"message_id,omitempty"`
	// Profile is the target profile; empty means the default one.
	Profile               string `json:"profile,omitempty"`
	AutoThreadCreated     bool   `json:"auto_thread_created,omitempty"`
	AutoThreadInitialName string `json:"auto_thread_initial_name,omitempty"`
	// ProspectiveThreadID is the thread the reply will open.
	ProspectiveThreadID string `json:"prospective_thread_id,omitempty"`
	IsBot               bool   `json:"is_bot,omitempty"`
	// DeliveredViaUpstreamRelay is set by the relay adapter and by nobody
	// else. It has no serialised form, so it can be neither forged nor
	// restored.
	DeliveredViaUpstreamRelay bool `json:"-"`
}

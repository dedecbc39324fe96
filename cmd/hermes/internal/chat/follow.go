package chat

import (
	"context"
	"fmt"
	"strings"

	"hermes.dev/hermes/runtime/localapi"
)

// follower shows the turns that the gateway begins in the session by itself, such as the one that the end of a
// delegation brings. Each is shown whole when it is over: the person may be typing.
type follower struct {
	session string
	cancel  context.CancelFunc
	ended   chan struct{}
}

// follow begins to follow the session in use, or goes on. A gateway that is gone, or cannot be followed, is tried again
// with the next message.
func (c *Chat) follow(ctx context.Context) {
	if f := c.following; f != nil {
		select {
		case <-f.ended:
		default:
			if f.session == c.Session {
				return
			}
		}
		c.unfollow()
	}
	if c.Session == "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{session: c.Session, cancel: cancel, ended: make(chan struct{})}
	c.following = f
	client, profile := c.Client, c.Target.Profile
	go func() {
		defer close(f.ended)
		var said strings.Builder
		_ = client.Follow(ctx, profile, f.session, nil, func(i localapi.StreamItem) {
			if i.Event == nil {
				said.WriteString(i.Text)
				return
			}
			switch i.Event.Type {
			case "tool_start", "retry":
				said.Reset()
			case "done":
				fmt.Fprintf(c.Notes, "\n• the agent goes on, because what it delegated has ended:\n%s\n", visible(strings.TrimSpace(said.String())))
				said.Reset()
			case "error":
				fmt.Fprintf(c.Notes, "\n! what was delegated has ended, and the agent could not go on: %s\n", brief(i.Event.Summary, maxNote))
				said.Reset()
			}
		})
	}()
}

// unfollow ends it and waits until nothing more is shown.
func (c *Chat) unfollow() {
	if f := c.following; f != nil {
		f.cancel()
		<-f.ended
		c.following = nil
	}
}

package chat

import (
	"context"
	"fmt"
	"sync"

	"hermes.dev/hermes/runtime/localapi"
)

// compress makes the session smaller now; focus is what the person wants to be kept in particular. Ctrl-C stops it, and
// then nothing has changed: like a turn it is waited for, so that the session is free for what is said next.
func (c *Chat) compress(ctx context.Context, focus string) error {
	if c.Session == "" {
		return fmt.Errorf("there is nothing to compress yet: the session begins with what you say")
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	c.forgetInterrupts()
	waiting.Go(func() {
		select {
		case <-c.Interrupts:
			c.stop(ctx, cut)
		case <-ctx.Done():
		}
	})
	fmt.Fprintln(c.Notes, "summarising the earlier part of the session …")
	done, err := c.Client.Compress(ctx, c.Target.Profile, c.Session, focus)
	if err != nil {
		if e := c.stated(err); e.Code == "interrupted" {
			return fmt.Errorf("interrupted; the session is as it was")
		}
		return err
	}
	fmt.Fprintln(c.Notes, compactedText(done))
	return nil
}

// compactedText is what a person is told of a compaction.
func compactedText(c localapi.Compacted) string {
	if !c.Done {
		return "nothing in this session can be made smaller"
	}
	text := fmt.Sprintf("the earlier part of this session is now a summary: %d messages became %d, about %d tokens became %d", c.RowsBefore, c.RowsAfter, c.TokensBefore, c.TokensAfter)
	if c.Failure != "" {
		text += "; no model could write it, so it lists what happened (" + brief(c.Failure, maxNote) + ")"
	}
	return text
}

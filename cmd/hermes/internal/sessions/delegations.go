package sessions

import (
	"fmt"
	"strings"

	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/store"
)

// writeDelegations lists what a session's agent handed to children, one line each and one for each child.
func writeDelegations(b *strings.Builder, list []localapi.DelegationInfo) {
	for _, d := range list {
		told := map[string]string{
			store.DeliveryPending: "not told yet", store.DeliveryDelivered: "told", store.DeliveryDropped: "not told: the conversation was over, or it was too late",
		}[d.Delivery]
		if d.CompletedAt == nil && d.Delivery == store.DeliveryPending {
			told = "since " + local(d.DispatchedAt)
		}
		fmt.Fprintf(b, "%-10s%s %s, %s\n", "Delegated:", safetext.Visible(d.ID), safetext.Visible(d.State), told)
		for i, goal := range d.Goals {
			state, session := d.State, ""
			for _, r := range d.Results {
				if r.TaskIndex == i {
					state = r.Status
				}
			}
			if i < len(d.Children) {
				session = "  hermes sessions show " + d.Children[i]
			}
			fmt.Fprintf(b, "%-10s- %s: %s%s\n", "", safetext.Visible(state), safetext.Brief(goal, titleWidth), safetext.Visible(session))
		}
	}
}

package notices

import (
	"strconv"
	"strings"
)

// The channels of notifications. Both carry the name of the replica that wrote, a space, and ids separated by commas:
// ChannelRuns the runs that changed, ChannelLive the runs with actions that became live, ended or started to wait.
const (
	ChannelRuns = "flyte_runs"
	ChannelLive = "flyte_live"

	// ChannelTracked is ChannelRuns for tracked runs, whose ids are others.
	ChannelTracked = "flyte_tracked"

	// ChannelLists carries the name of a list that has a new entry for a loop of some replica.
	ChannelLists = "flyte_lists"

	payloadLimit = 7900 // Postgres takes less than 8000 bytes
)

// The lists that are announced on ChannelLists.
const (
	ListWebhooks = "webhooks"
	ListProduced = "produced_outputs"
	ListOutbox   = "notification_outbox"
)

// Notify is the statement that sends a notification on a channel.
const Notify = `SELECT pg_notify($1, $2)`

// Payloads encodes ids as text in as few notifications as possible.
func Payloads(prefix string, ids []int64) []string {
	var texts []string
	var text strings.Builder
	for _, id := range ids {
		digits := strconv.FormatInt(id, 10)
		if text.Len() > 0 && text.Len()+1+len(digits) > payloadLimit {
			texts = append(texts, text.String())
			text.Reset()
		}
		if text.Len() == 0 {
			text.WriteString(prefix)
		} else {
			text.WriteByte(',')
		}
		text.WriteString(digits)
	}
	if text.Len() > 0 {
		texts = append(texts, text.String())
	}
	return texts
}

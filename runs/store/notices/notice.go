package notices

import (
	"fmt"
	"strconv"
	"strings"
)

// Notice is the payload of a notification on ChannelRuns and ChannelLive.
type Notice struct {
	// Replica is the process that committed the change; empty when the notification does not name it.
	Replica string
	// Runs are the ids of the runs concerned.
	Runs []int64
}

// ParseNotice reads a payload: the name of the replica, a space, and ids of runs separated by commas. The name and
// its space may be absent.
func ParseNotice(payload string) (Notice, error) {
	replica, list, signed := strings.Cut(payload, " ")
	if !signed {
		replica, list = "", payload
	}
	notice := Notice{Replica: replica}
	for field := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Notice{}, fmt.Errorf("notification %q: %w", payload, err)
		}
		notice.Runs = append(notice.Runs, id)
	}
	return notice, nil
}

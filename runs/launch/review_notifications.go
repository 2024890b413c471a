package launch

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// Notifications judges the notification rules of runs; notifications.Reviewer does.
type Notifications interface {
	// Review returns the phases that the rules name, as bits 1<<phase (see store.NotifyNone), and what people should know
	// about the rules. It returns an invalid_argument for rules that could never be delivered.
	Review(spec *task.RunSpec) (phases int32, notes []string, err error)
}

// reasonNotifications is the reason of notes about notifications.
const reasonNotifications = "Notifications"

func (c *Creator) reviewNotifications(spec *task.RunSpec) (int32, []protomap.Note, error) {
	if c.Notifications == nil || spec.GetNotificationSettings() == nil {
		return 0, nil, nil
	}
	phases, words, err := c.Notifications.Review(spec)
	if err != nil {
		return 0, nil, err
	}
	var notes []protomap.Note
	for _, text := range words {
		notes = append(notes, protomap.Note{Reason: reasonNotifications, Message: text})
	}
	return phases, notes, nil
}

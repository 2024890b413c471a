package attempts

import (
	"time"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Linger is how long the process of an attempt may run after it wrote its error document or its outputs, as one does that hangs in
// the shutdown of the SDK. A process is looked at after Linger, and then with pauses that double: most end before the first look, and
// the others cost two requests to the object store for each.
type Linger time.Duration

// longestLook is how many times Linger passes at most between two looks.
const longestLook = 3

// Holds reports whether the processes of a task are looked at. The co-pilot of raw containers writes their outcome.
func (l Linger) Holds(template *core.TaskTemplate) bool {
	return l > 0 && !verdict.HasDataSidecar(template)
}

// After is the pause after a look that found nothing.
func (l Linger) After(pause time.Duration) time.Duration {
	return min(2*pause, longestLook*time.Duration(l))
}

// Words say on an attempt that its process still runs although it wrote its outcome.
func (l Linger) Words() (reason, message string) {
	return "OutcomeWritten", sentence.Say(
		"the task has written its outcome, but its process still runs; it is stopped %s after that was noticed", time.Duration(l))
}

package triggers

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// slotNameLength is that of the hash in the name of a slot's run: 128 bits in base 36.
const slotNameLength = 25

// slotName is the name of the run of a slot: however often and from whichever replica a slot is started, it is the same run. The revision
// is not part of it, since a slot fires once even if the trigger is deployed meanwhile
// (docs/decisions/a-slot-is-the-name-of-a-run.md). Names that the server generates begin with another letter.
func slotName(t *store.Trigger, slot time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d", t.Project, t.Domain, t.Task.Name, t.Name, slot.UnixMicro()))
	text := new(big.Int).SetBytes(sum[:16]).Text(36)
	return "t" + strings.Repeat("0", slotNameLength-len(text)) + text
}

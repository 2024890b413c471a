package triggers

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// nameLength is that of the hash in the name of a run: 128 bits in base 36.
const nameLength = 25

// runName is the name of the run of a slot or of a version: however often and from whichever replica it is started, it is
// the same run. The revision is not part of it, since a slot fires once even if the trigger is deployed meanwhile
// (docs/decisions/a-slot-is-the-name-of-a-run.md). Names that the server generates begin with another letter.
func runName(t *store.Trigger, slot time.Time, cause string) string {
	text := fmt.Appendf(nil, "%q %q %q %q %d", t.Project, t.Domain, t.Task.Name, t.Name, slot.UnixMicro())
	if cause != "" {
		text = fmt.Appendf(text, " %q", cause)
	}
	sum := sha256.Sum256(text)
	name := new(big.Int).SetBytes(sum[:16]).Text(36)
	return "t" + strings.Repeat("0", nameLength-len(name)) + name
}

package rollup

import (
	"encoding/binary"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

// lastOutcomes is how many outcomes are kept of a task.
const lastOutcomes = 30

// hitBit marks the outputs of the cache in the phase of an encoded outcome.
const hitBit = 0x80

// appendOutcomes adds outcomes to the last ones, the oldest first. Each is its phase and its milliseconds.
func appendOutcomes(stored []byte, more []rollups.Outcome) []byte {
	all := append(Outcomes(stored), more...)
	all = all[max(0, len(all)-lastOutcomes):]
	out := []byte{}
	for _, one := range all {
		phase := byte(one.Phase) //nolint:gosec // an enum of few values
		if one.Hit {
			phase |= hitBit
		}
		out = binary.AppendUvarint(append(out, phase), uint64(max(0, one.Ran.Milliseconds())))
	}
	return out
}

// Outcomes reads encoded outcomes. What cannot be read is left out.
func Outcomes(body []byte) (all []rollups.Outcome) {
	for len(body) > 0 {
		ms, n := binary.Uvarint(body[1:])
		if n <= 0 {
			return all
		}
		all = append(all, rollups.Outcome{Phase: int16(body[0] &^ hitBit), Hit: body[0]&hitBit != 0, Ran: time.Duration(ms) * time.Millisecond}) //nolint:gosec // as encoded
		body = body[1+n:]
	}
	return all
}

package podlog

import (
	"bytes"
	"time"
)

// entry is one line of the file.
type entry struct {
	stamp  []byte
	stream []byte
	whole  bool
	text   []byte
}

// parse parses a line without its newline. A line that is not an entry counts as text, so that nothing is lost.
func parse(line []byte) entry {
	stamp, rest, ok1 := bytes.Cut(line, []byte{' '})
	stream, rest, ok2 := bytes.Cut(rest, []byte{' '})
	tag, text, ok3 := bytes.Cut(rest, []byte{' '})
	if !ok1 || !ok2 || !ok3 || len(tag) != 1 {
		return entry{whole: true, text: line}
	}
	return entry{stamp: stamp, stream: stream, whole: tag[0] == 'F', text: text}
}

// wanted reports whether the options select the entry.
func (o Options) wanted(e entry) bool {
	if o.Stream != "" && string(e.stream) != o.Stream {
		return false
	}
	if o.Since.IsZero() {
		return true
	}
	at, err := time.Parse(time.RFC3339Nano, string(e.stamp))
	// An entry without a time is shown rather than lost.
	return err != nil || !at.Before(o.Since)
}

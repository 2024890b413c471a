package stored

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/store/measured"
)

// Use is what a project has stored, and its limit.
type Use struct {
	Project string
	Setting string
	// Most is the limit; 0 means none.
	Most int64
	// Used is the last measurement and what was uploaded by way of the server since, in bytes.
	Used int64
	// MeasuredAt is when the measurement began; zero when there is none.
	MeasuredAt time.Time
	// Next is when the next measurement begins at the latest; zero when one is under way or due.
	Next time.Time

	state state
}

// state is how a project does with its limit.
type state string

const (
	below   state = "below" // or without a limit
	isNear  state = "near"
	above   state = "above"
	old     state = "old"     // the measurement is too old to limit anything
	missing state = "missing" // not measured yet
)

func (c Config) use(row *measured.Row, now time.Time) Use {
	use := Use{Project: row.Project, Used: row.Bytes + row.Added, MeasuredAt: timeOf(row.MeasuredAt)}
	use.Most, use.Setting = c.limit(row.Project)
	if next := c.due(row, false); next.After(now) {
		use.Next = next
	}
	switch {
	case row.MeasuredAt == nil:
		use.state = missing
	case now.Sub(*row.MeasuredAt) > c.oldAfter():
		use.state = old
	case use.Most > 0 && use.Used >= use.Most:
		use.state = above
	case near(use.Used, use.Most):
		use.state = isNear
	default:
		use.state = below
	}
	return use
}

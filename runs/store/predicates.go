package store

// The predicates of the partial indexes of actions.
const (
	isQueued      = `a.action_type = ` + sqlTask + ` AND a.phase = ` + sqlQueued + ` AND a.admitted_at IS NULL AND a.hold = ` + sqlNoHold
	isQueuedChild = isQueued + ` AND a.parent_name IS NOT NULL`
	isQueuedRoot  = isQueued + ` AND a.parent_name IS NULL`
	isHeld        = `a.hold <> ` + sqlNoHold + ` AND a.ended_at IS NULL`
	isLive        = `a.admitted_at IS NOT NULL AND a.ended_at IS NULL`
)

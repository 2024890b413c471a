package sqltext

// The predicates of the partial indexes of actions.
const (
	isQueued      = `a.action_type = ` + Task + ` AND a.phase = ` + Queued + ` AND a.admitted_at IS NULL AND a.hold = ` + NoHold
	IsQueuedChild = isQueued + ` AND a.parent_name IS NOT NULL`
	IsQueuedRoot  = isQueued + ` AND a.parent_name IS NULL`
	IsHeld        = `a.hold <> ` + NoHold + ` AND a.ended_at IS NULL`
	IsLive        = `a.admitted_at IS NOT NULL AND a.ended_at IS NULL`
)

package schema

import "time"

// Brief is an action with only the columns that a columnar run snapshot shows.
type Brief struct {
	ID          int64
	Name        string
	ParentName  *string // nil for the root
	ActionType  int16
	ActionGroup string
	Phase       int16
	Attempt     int32
	CacheStatus int16
	LastSeq     int64
	TaskName    string
	ShortName   string
	Cluster     string
	CreatedAt   time.Time
	StartedAt   *time.Time
	EndedAt     *time.Time
}

// Brief is the part of an action that snapshots show.
func (a *Action) Brief() Brief {
	return Brief{
		ID: a.ID, Name: a.Name, ParentName: a.ParentName, ActionType: a.ActionType, ActionGroup: a.ActionGroup, Phase: a.Phase,
		Attempt: a.Attempt, CacheStatus: a.CacheStatus, LastSeq: a.LastSeq, TaskName: a.TaskName, ShortName: a.ShortName, Cluster: a.Cluster,
		CreatedAt: a.CreatedAt, StartedAt: a.StartedAt, EndedAt: a.EndedAt,
	}
}

package schema

// Result is the part of a finished action in a source run that a recovery needs.
type Result struct {
	RunID         int64
	RunName       string
	Name          string
	ParentName    *string
	Group         string
	ActionType    int16
	Phase         int16
	TaskName      string
	TaskType      string
	ShortName     string
	FunctionName  string
	SpecDigest    []byte
	InputURI      string
	OutputURI     string
	ReportURI     string
	Signal        []byte
	RecoveredFrom []byte
}

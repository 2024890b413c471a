package watch

// What tests of the package's rules see of its inside.
var (
	TargetOf        = targetOf
	ParseTreeFilter = parseTreeFilter
	ParseGroups     = parseGroups
	Ended           = ended
)

// TreeFilter is for signatures in tests.
type TreeFilter = treeFilter

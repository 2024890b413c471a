package watch

// What the tests need of the package's internals.
var (
	TargetOf        = targetOf
	ParseTreeFilter = parseTreeFilter
	ParseGroups     = parseGroups
)

// TreeFilter is for signatures in tests.
type TreeFilter = treeFilter

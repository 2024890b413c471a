package sqltext

// Column is the parameter of a statement that has a value of each row.
func Column[R, T any](rows []R, value func(R) T) []T {
	values := make([]T, len(rows))
	for i, r := range rows {
		values[i] = value(r)
	}
	return values
}

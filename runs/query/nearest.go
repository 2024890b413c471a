package query

// nearest is the known word from which a typed one differs least, if that is a slip of the keyboard: one change in up to
// four letters, two in more. Words of up to three letters have too many neighbors.
func nearest(typed string, known []string) string {
	if len(typed) < 3 {
		return ""
	}
	most := 2
	if len(typed) <= 4 {
		most = 1
	}
	best, found := most+1, ""
	for _, one := range known {
		if len(one) < 4 {
			continue
		}
		if d := distance(typed, one); d < best {
			best, found = d, one
		}
	}
	return found
}

// distance counts the letters to insert, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

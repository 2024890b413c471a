package layers

import "strings"

// Nearest is the candidate that a misspelled word was probably meant to be: the one with the fewest letters to insert, delete,
// replace or swap, if these are few for the length of the word; else "".
func Nearest(word string, candidates []string) string {
	best, least := "", 1+allowed(len(word))
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// allowed is how many mistakes a word of a length may have.
func allowed(length int) int {
	switch {
	case length < 3:
		return 0
	case length < 6:
		return 1
	case length < 10:
		return 2
	default:
		return 3
	}
}

// distance counts the letters to insert, delete, replace or swap with their neighbour.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

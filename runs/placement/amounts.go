package placement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// The resources that have units of their own. All others are counted.
const (
	CPU     = "cpu"
	Memory  = "memory"
	Storage = "ephemeral-storage"
)

// Amounts are quantities of resources by their name in Kubernetes: cpu in thousandths of a core, memory and storage in bytes, all
// others in units.
type Amounts map[string]int64

// Add adds n times the amounts of another, within the range of the type.
func (a Amounts) Add(other Amounts, n int64) {
	for name, amount := range other {
		a[name] = sum(a[name], product(n, amount))
	}
}

func product(a, b int64) int64 {
	if a != 0 && (a*b/a != b) {
		return math.MaxInt64
	}
	return a * b
}

func sum(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// Names are those of the amounts that are more than zero: devices first, since these are scarce, then in order.
func (a Amounts) Names() []string {
	var names []string
	for name, amount := range a {
		if amount > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		if common(x) != common(y) {
			if common(x) {
				return 1
			}
			return -1
		}
		if x < y {
			return -1
		}
		return 1
	})
	return names
}

// common reports whether every machine has the resource.
func common(name string) bool { return name == CPU || name == Memory || name == Storage }

// Show writes an amount for people.
func Show(name string, amount int64) string {
	amount = max(amount, 0)
	switch name {
	case CPU:
		if amount%1000 != 0 {
			return strconv.FormatInt(amount, 10) + "m"
		}
		amount /= 1000
	case Memory, Storage:
		return bytes(amount)
	}
	return strconv.FormatInt(amount, 10)
}

func bytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		switch {
		case n >= unit.size && n%unit.size == 0:
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		case n >= unit.size:
			return fmt.Sprintf("%.1f%s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

package operated

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Number returns a quantity in whole units, rounded up: bytes of memory, or threads.
func Number(quantity *resource.Quantity) string { return strconv.FormatInt(quantity.Value(), 10) }

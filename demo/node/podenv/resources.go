package podenv

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resource is the value of a resource field of a container, in units of the divisor and rounded up.
func Resource(c *corev1.Container, node Node, ref *corev1.ResourceFieldSelector) (string, error) {
	kind, name, ok := strings.Cut(ref.Resource, ".")
	if !ok {
		return "", fmt.Errorf("the resource field %q is not of the form limits.<name> or requests.<name>", ref.Resource)
	}
	var quantity resource.Quantity
	switch kind {
	case "limits":
		q, found := c.Resources.Limits[corev1.ResourceName(name)]
		if !found {
			q = node.Allocatable[corev1.ResourceName(name)] // what the container could use at most
		}
		quantity = q
	case "requests":
		q, found := c.Resources.Requests[corev1.ResourceName(name)]
		if !found {
			q = c.Resources.Limits[corev1.ResourceName(name)]
		}
		quantity = q
	default:
		return "", fmt.Errorf("the resource field %q is not of the form limits.<name> or requests.<name>", ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if corev1.ResourceName(name) == corev1.ResourceCPU {
		return ceil(quantity.MilliValue(), divisor.MilliValue())
	}
	return ceil(quantity.Value(), divisor.Value())
}

func ceil(value, divisor int64) (string, error) {
	if divisor <= 0 {
		return "", fmt.Errorf("the divisor %d is not positive", divisor)
	}
	return strconv.FormatInt((value+divisor-1)/divisor, 10), nil
}

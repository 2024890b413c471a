package settings

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// quantityForm is the format of Kubernetes quantities: a decimal number, then a decimal or binary suffix, or an
// exponent.
var quantityForm = regexp.MustCompile(`^\+?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|n|u|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?$`)

// maxQuantity is the largest length of a quantity, in bytes.
const maxQuantity = 40

// Quantity parses a quantity such as 500m, 2 or 4Gi. Negative amounts are an error.
func Quantity(text string) (*big.Rat, error) {
	parts := quantityForm.FindStringSubmatch(text)
	if parts == nil || len(text) > maxQuantity {
		return nil, fmt.Errorf("%q is not a quantity such as 500m, 2 or 4Gi", shown(text))
	}
	amount, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return nil, fmt.Errorf("%q is not a quantity such as 500m, 2 or 4Gi", shown(text))
	}
	return amount.Mul(amount, scaleOf(parts[2])), nil
}

// scaleOf is the factor of a suffix. In decimal, the place of a letter before or after the blank is its power of 1000.
func scaleOf(suffix string) *big.Rat {
	const decimal, binary = "num kMGTPE", "KMGTPE"
	switch {
	case suffix == "":
		return big.NewRat(1, 1)
	case strings.HasSuffix(suffix, "i"):
		return power(1024, strings.Index(binary, suffix[:1])+1)
	case len(suffix) == 1:
		return power(1000, strings.Index(decimal, suffix)-strings.Index(decimal, " "))
	default: // An exponent. Its two digits always fit.
		exponent, _ := strconv.Atoi(suffix[1:])
		return power(10, exponent)
	}
}

func power(base int64, exponent int) *big.Rat {
	size := max(exponent, -exponent)
	value := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(size)), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), value)
	}
	return new(big.Rat).SetInt(value)
}

// shown is a text in an error.
func shown(text string) string { return clip.Ellipsis(text, maxQuantity) }

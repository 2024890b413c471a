package listquery

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// words are the functions of the text form of filters.
var words = map[string]common.Filter_Function{
	"eq":           common.Filter_EQUAL,
	"ne":           common.Filter_NOT_EQUAL,
	"gt":           common.Filter_GREATER_THAN,
	"gte":          common.Filter_GREATER_THAN_OR_EQUAL,
	"lt":           common.Filter_LESS_THAN,
	"lte":          common.Filter_LESS_THAN_OR_EQUAL,
	"contains":     common.Filter_CONTAINS,
	"value_in":     common.Filter_VALUE_IN,
	"value_not_in": common.Filter_VALUE_NOT_IN,
}

// ParseExpression parses filters in their text form: terms such as eq(name, x) or value_in(id, a;b), joined by plus
// signs. field is the path of the request's field, for errors. Empty text means no filters.
func ParseExpression(field, text string) ([]*common.Filter, error) {
	var out []*common.Filter
	for rest := strings.TrimSpace(text); rest != ""; {
		term, following, err := cutTerm(rest)
		if err != nil {
			return nil, rpc.InvalidArgument(field, "%s", err.Error())
		}
		filter, err := parseTerm(term)
		if err != nil {
			return nil, rpc.InvalidArgument(field, "%s", err.Error())
		}
		out = append(out, filter)
		rest = following
	}
	return out, nil
}

// cutTerm cuts the text after the parenthesis that closes the first one, and requires a plus sign or the end there.
func cutTerm(text string) (term, rest string, err error) {
	depth := 0
	for i, char := range text {
		switch char {
		case '(':
			depth++
		case ')':
			depth--
		}
		if char != ')' || depth != 0 {
			continue
		}
		term, rest = text[:i+1], strings.TrimSpace(text[i+1:])
		if rest == "" {
			return term, "", nil
		}
		if next, ok := strings.CutPrefix(rest, "+"); ok && strings.TrimSpace(next) != "" {
			return term, strings.TrimSpace(next), nil
		}
		return "", "", fmt.Errorf("expected + and another filter after %q", term)
	}
	return "", "", fmt.Errorf("%q is not a filter such as eq(name, x)", text)
}

func parseTerm(term string) (*common.Filter, error) {
	word, arguments, _ := strings.Cut(strings.TrimSuffix(term, ")"), "(")
	function, ok := words[strings.ToLower(strings.TrimSpace(word))]
	if !ok {
		return nil, fmt.Errorf("unknown filter function %q", strings.TrimSpace(word))
	}
	name, value, ok := strings.Cut(arguments, ",")
	if !ok {
		return nil, fmt.Errorf("%q needs a field and a value", term)
	}
	filter := &common.Filter{Function: function, Field: strings.TrimSpace(name)}
	if function != common.Filter_VALUE_IN && function != common.Filter_VALUE_NOT_IN {
		filter.Values = []string{strings.TrimSpace(value)}
		return filter, nil
	}
	for _, one := range strings.Split(value, ";") {
		filter.Values = append(filter.Values, strings.TrimSpace(one))
	}
	return filter, nil
}

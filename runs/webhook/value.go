package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// given is a value as received: from JSON with its type, from a form as a string.
type given struct {
	value any // bool, json.Number or string
	form  bool
}

// readValue reads {"value": ...} or a form with a field of that name.
func readValue(r *http.Request) (given, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return given{}, errors.New("the body cannot be read")
	}
	if len(body) > maxBody {
		return given{}, fmt.Errorf("the body is larger than %d bytes", maxBody)
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // none is taken as JSON
	switch kind {
	case "application/x-www-form-urlencoded", "multipart/form-data":
		return formValue(r, body)
	}
	var message struct {
		Value any `json:"value"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&message); err != nil {
		return given{}, errors.New(`the body must be JSON such as {"value": true}, or a form with a field named value`)
	}
	switch message.Value.(type) {
	case bool, json.Number, string:
		return given{value: message.Value}, nil
	}
	return given{}, errors.New("value: a boolean, a number or a string is required")
}

func formValue(r *http.Request, body []byte) (given, error) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err := r.ParseMultipartForm(maxBody); err != nil && !errors.Is(err, http.ErrNotMultipart) { //nolint:gosec // the body has a limit already
		return given{}, errors.New("the form cannot be read")
	}
	values, ok := r.PostForm["value"]
	if !ok || len(values) != 1 {
		return given{}, errors.New("the form requires exactly one field named value")
	}
	return given{value: values[0], form: true}, nil
}

func kindWords(want core.SimpleType) string {
	switch want {
	case core.SimpleType_BOOLEAN:
		return "a boolean"
	case core.SimpleType_INTEGER:
		return "an integer"
	case core.SimpleType_FLOAT:
		return "a number"
	default:
		return "a text"
	}
}

// as converts the value to the type of its condition.
func (g given) as(want core.SimpleType) (*core.Primitive, error) {
	wrong := fmt.Errorf("value: the condition wants %s", kindWords(want))
	text, isText := g.value.(string)
	number, isNumber := g.value.(json.Number)
	if g.form {
		isNumber, number = true, json.Number(strings.TrimSpace(text))
	}
	switch want {
	case core.SimpleType_BOOLEAN:
		value, ok := g.value.(bool)
		if g.form {
			parsed, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(text)))
			value, ok = parsed, err == nil
		}
		if !ok {
			return nil, wrong
		}
		return &core.Primitive{Value: &core.Primitive_Boolean{Boolean: value}}, nil
	case core.SimpleType_INTEGER:
		value, err := strconv.ParseInt(number.String(), 10, 64)
		if !isNumber || err != nil {
			return nil, wrong
		}
		return &core.Primitive{Value: &core.Primitive_Integer{Integer: value}}, nil
	case core.SimpleType_FLOAT:
		value, err := number.Float64()
		if !isNumber || err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, wrong
		}
		return &core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: value}}, nil
	default:
		if !isText || strings.ContainsRune(text, 0) {
			return nil, wrong
		}
		return &core.Primitive{Value: &core.Primitive_StringValue{StringValue: strings.ToValidUTF8(text, "\uFFFD")}}, nil
	}
}

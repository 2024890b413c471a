package launchform

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// Form is the launch form of an interface: a JSON schema of one object with a property for each variable, whose values
// are the properties' defaults.
func Form(variables *core.VariableMap, values map[string]*core.Literal) (*structpb.Struct, error) {
	properties, required := schema{}, []any{}
	for _, entry := range variables.GetVariables() {
		name := entry.GetKey()
		property, err := property(name, entry.GetValue(), values[name])
		if err != nil {
			return nil, err
		}
		properties[name] = property
		if isRequired(entry.GetValue().GetType(), property) {
			required = append(required, name)
		}
	}
	return toStruct(schema{"type": "object", "title": titleForm, "properties": properties, "required": required})
}

func property(name string, variable *core.Variable, value *core.Literal) (schema, error) {
	path := "inputs." + name
	s, err := schemaOf(path, variable.GetType(), 0)
	if err != nil {
		return nil, err
	}
	if variable.GetDescription() != "" {
		s["description"] = variable.GetDescription()
	}
	if value != nil {
		if err := setDefault(path, s, variable.GetType(), value); err != nil {
			return nil, err
		}
		fillFields(s)
	}
	return s, nil
}

// setDefault makes a value the default of a property. Readers of the form get the type from the property alone.
func setDefault(path string, property schema, t *core.LiteralType, value *core.Literal) error {
	encoded, err := toStruct(property)
	if err != nil {
		return err
	}
	ofSchema, err := typeOf(path, encoded, 0)
	if err != nil {
		return err
	}
	property["default"], err = exactJSON(path, t, ofSchema, value)
	return err
}

// fillFields gives the fields of a blob or dataset the values of the whole, for forms that show them one by one.
func fillFields(property schema) {
	if property["format"] != formatBlob && property["format"] != formatDataset {
		return
	}
	fields, _ := property["properties"].(schema)
	values, _ := shownOf(property["default"]).(map[string]any)
	for name, value := range values {
		if f, ok := fields[name].(schema); ok {
			f["default"] = value
		}
	}
}

// defaultOf is the value in a property: its default, or, of a blob or dataset, those of its fields.
func defaultOf(property *structpb.Struct) (*structpb.Value, bool) {
	if value, ok := property.GetFields()["default"]; ok {
		return value, true
	}
	if format := text(property, "format"); format != formatBlob && format != formatDataset {
		return nil, false
	}
	fields := field(property, "properties").GetStructValue().GetFields()
	if fields["uri"].GetStructValue().GetFields()["default"].GetStringValue() == "" {
		return nil, false
	}
	whole := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, f := range fields {
		if value, ok := f.GetStructValue().GetFields()["default"]; ok {
			whole.Fields[name] = value
		}
	}
	return structpb.NewStructValue(whole), true
}

// isRequired: not what may be null or is null by default.
func isRequired(t *core.LiteralType, property schema) bool {
	if value, ok := property["default"]; ok && value == nil {
		return false
	}
	return !acceptsNull(t)
}

func acceptsNull(t *core.LiteralType) bool {
	for _, variant := range t.GetUnionType().GetVariants() {
		if isNone(variant) {
			return true
		}
	}
	return isNone(t)
}

// TaskForm is the launch form of a task, with the task's defaults.
func TaskForm(spec *task.TaskSpec) (*structpb.Struct, error) {
	defaults := map[string]*core.Literal{}
	for _, parameter := range spec.GetDefaultInputs() {
		if value := parameter.GetParameter().GetDefault(); value != nil {
			defaults[parameter.GetName()] = value
		}
	}
	return Form(spec.GetTaskTemplate().GetInterface().GetInputs(), defaults)
}

// FromForm reads the values of a form. Types come from its schemas; the result is sorted by name.
func FromForm(form *structpb.Struct) ([]*task.NamedLiteral, error) {
	properties := field(form, "properties").GetStructValue()
	required := map[string]bool{}
	for _, name := range field(form, "required").GetListValue().GetValues() {
		required[name.GetStringValue()] = true
	}
	var result []*task.NamedLiteral
	for _, name := range sortedKeys(properties.GetFields()) {
		path := "inputs." + name
		property := properties.GetFields()[name].GetStructValue()
		t, err := typeOf(path, property, 0)
		if err != nil {
			return nil, err
		}
		given, ok := defaultOf(property)
		if !ok && required[name] {
			return nil, wrong(path, "is required")
		}
		literal, err := valueOrNone(path, t, given, ok)
		if err != nil {
			return nil, err
		}
		if literal != nil {
			result = append(result, &task.NamedLiteral{Name: name, Value: literal})
		}
	}
	return result, nil
}

// FromValues converts a plain object of values to literals, in the order of the interface. It ignores values that the
// interface does not have.
func FromValues(variables *core.VariableMap, values *structpb.Struct) ([]*task.NamedLiteral, error) {
	var result []*task.NamedLiteral
	for _, entry := range variables.GetVariables() {
		name, t := entry.GetKey(), entry.GetValue().GetType()
		path := "values." + name
		given, ok := values.GetFields()[name]
		if !ok && !acceptsNull(t) {
			return nil, wrong(path, "is required")
		}
		literal, err := valueOrNone(path, t, given, ok)
		if err != nil {
			return nil, err
		}
		if literal != nil {
			result = append(result, &task.NamedLiteral{Name: name, Value: literal})
		}
	}
	return result, nil
}

// valueOrNone is the literal of what was given; of what was not, none if the type has it, else nothing.
func valueOrNone(path string, t *core.LiteralType, given *structpb.Value, ok bool) (*core.Literal, error) {
	if ok {
		return literalOf(path, t, given.AsInterface(), 0)
	}
	if acceptsNull(t) {
		return literalOf(path, t, nil, 0)
	}
	return nil, nil //nolint:nilnil // as documented
}

package command

import (
	"fmt"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// writeYAML writes a configuration in the order of its keys, with the origin of what is not at its default.
func writeYAML(out io.Writer, config configuration.Config, origins layers.Origins) error {
	node, err := shown("", reflect.TypeOf(config), configuration.Redacted(config), origins)
	if err != nil {
		return err
	}
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return encoder.Close()
}

// shown is one section as YAML nodes, since only nodes have comments. path is the full key of the section.
func shown(path string, t reflect.Type, values map[string]any, origins layers.Origins) (*yaml.Node, error) {
	section := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range layers.Keys(t) {
		name, full := &yaml.Node{Kind: yaml.ScalarNode, Value: key.Name}, key.Name
		if path != "" {
			full = path + "." + key.Name
		}
		below, isSection := values[key.Name].(map[string]any)
		value := &yaml.Node{}
		var err error
		if isSection {
			value, err = shown(full, t.Field(key.Index).Type, below, origins)
		} else {
			err = value.Encode(values[key.Name])
		}
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", full, err)
		}
		if origin, found := origins[full]; found && !isSection {
			// A list has its comment on its key, above its items.
			if value.Kind == yaml.ScalarNode || len(value.Content) == 0 {
				value.LineComment = "# " + origin.String()
			} else {
				name.LineComment = "# " + origin.String()
			}
		}
		section.Content = append(section.Content, name, value)
	}
	return section, nil
}

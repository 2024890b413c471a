package manager

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// restoreKeys restores the case of map keys from the file. viper lowercases every key, which is right for configuration
// keys and wrong for names of labels.
func restoreKeys(path string, config *Config) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(content, &raw); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	restoreStruct(reflect.ValueOf(config).Elem(), raw)
	return nil
}

func restoreStruct(value reflect.Value, raw map[string]any) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		section, found := lookUp(raw, field.Tag.Get("mapstructure"))
		if !found {
			continue
		}
		switch value.Field(i).Kind() {
		case reflect.Struct:
			restoreStruct(value.Field(i), section)
		case reflect.Map:
			restoreMap(value.Field(i), section)
		default:
		}
	}
}

func restoreMap(value reflect.Value, section map[string]any) {
	if value.Type().Key().Kind() != reflect.String || value.IsNil() {
		return
	}
	for spelled := range section {
		lower, right := reflect.ValueOf(strings.ToLower(spelled)), reflect.ValueOf(spelled)
		if item := value.MapIndex(lower); item.IsValid() && lower.String() != spelled {
			value.SetMapIndex(right, item)
			value.SetMapIndex(lower, reflect.Value{})
		}
	}
}

// lookUp finds a section by its name, ignoring case.
func lookUp(raw map[string]any, name string) (map[string]any, bool) {
	if name == "" {
		return nil, false
	}
	for key, value := range raw {
		if section, ok := value.(map[string]any); ok && strings.EqualFold(key, name) {
			return section, true
		}
	}
	return nil, false
}

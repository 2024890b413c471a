package manager

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// EnvPrefix starts the environment variables that override the file: FLYTE_SERVER_LISTEN sets server.listen.
const EnvPrefix = "FLYTE"

// separator divides the keys inside viper. It is not a dot, since names of labels have dots.
const separator = "::"

// Load reads the configuration: defaults, then the file (none when path is empty), then the environment, then
// overrides of the form section.key=value. An unknown key is an error that names it. Lists in the environment
// and in overrides are separated by commas; lists of sections are JSON.
func Load(path string, overrides []string) (Config, error) {
	config, err := Read(path, overrides)
	if err != nil {
		return Config{}, err
	}
	if err := config.Validate(); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return config, nil
}

// Read is Load without validating the values.
func Read(path string, overrides []string) (Config, error) {
	// With BindStruct the environment reaches keys that the file does not have.
	v := viper.NewWithOptions(
		viper.KeyDelimiter(separator), viper.ExperimentalBindStruct(),
		viper.EnvKeyReplacer(strings.NewReplacer(separator, "_")),
	)
	v.SetEnvPrefix(EnvPrefix)
	v.AutomaticEnv()
	if path != "" {
		v.SetConfigFile(path)
		if err := v.ReadInConfig(); err != nil {
			return Config{}, fmt.Errorf("read configuration: %w", err)
		}
	}
	for _, override := range overrides {
		key, value, found := strings.Cut(override, "=")
		if !found || key == "" {
			return Config{}, fmt.Errorf("override %q: want section.key=value", override)
		}
		v.Set(strings.ReplaceAll(key, ".", separator), value)
	}
	config := DefaultConfig()
	if err := v.UnmarshalExact(&config, decode); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", explain(err))
	}
	if path != "" {
		if err := restoreKeys(path, &config); err != nil {
			return Config{}, err
		}
	}
	return config, nil
}

func decode(d *mapstructure.DecoderConfig) {
	d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
		mapstructure.StringToTimeDurationHookFunc(), list, mapstructure.TextUnmarshallerHookFunc(),
	)
	d.ZeroFields = false // absent keys keep their defaults
}

// list reads "a, b" as a list, and JSON as a list of sections, some of which have a short form in text as well. An empty
// string is an empty list.
func list(from, to reflect.Type, value any) (any, error) {
	if from.Kind() != reflect.String || to.Kind() != reflect.Slice || to.Elem().Kind() == reflect.Uint8 {
		return value, nil
	}
	text, _ := value.(string)
	inText := reflect.PointerTo(to.Elem()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) && !strings.HasPrefix(text, "[")
	if to.Elem().Kind() == reflect.Struct && text != "" && !inText {
		var sections []map[string]any
		if json.Unmarshal([]byte(text), &sections) != nil { // its error may have the value of a secret
			return nil, errors.New(`must be a list of objects in JSON: [{"key": "value"}]`)
		}
		return sections, nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return slices.DeleteFunc(items, func(item string) bool { return item == "" }), nil
}

// explain rewrites the decoder's error about unknown keys, and says how to list the known ones.
func explain(err error) error {
	text := err.Error()
	if !strings.Contains(text, "invalid keys") {
		return err
	}
	return fmt.Errorf("unknown key: %s; `flyte-binary config show` lists the known keys", strings.ReplaceAll(text, "\n", " "))
}

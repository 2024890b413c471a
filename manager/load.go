package manager

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// EnvPrefix starts the environment variables that override the file: FLYTE_SERVER_LISTEN sets server.listen.
const EnvPrefix = "FLYTE"

// Load reads the configuration: defaults, then the file (none when path is empty), then the environment, then
// overrides of the form section.key=value. A key that does not exist is refused by its name.
func Load(path string, overrides []string) (Config, error) {
	// With BindStruct the environment reaches keys that the file does not have.
	v := viper.NewWithOptions(viper.ExperimentalBindStruct(), viper.EnvKeyReplacer(strings.NewReplacer(".", "_")))
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
		v.Set(key, value)
	}
	config := DefaultConfig()
	if err := v.UnmarshalExact(&config, func(d *mapstructure.DecoderConfig) {
		d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(","))
		d.ZeroFields = false
	}); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return config, config.Validate()
}

// Redacted is the configuration as it may be logged: fields tagged sensitive are masked, and the passwords in URLs.
func Redacted(config any) map[string]any {
	out := map[string]any{}
	value, kind := reflect.ValueOf(config), reflect.TypeOf(config)
	for i := range kind.NumField() {
		field := kind.Field(i)
		name := field.Tag.Get("mapstructure")
		if name == "" || !field.IsExported() {
			continue
		}
		item := value.Field(i)
		switch {
		case field.Tag.Get("sensitive") == "true":
			if !item.IsZero() {
				out[name] = "(hidden)"
			}
		case item.Kind() == reflect.Struct:
			out[name] = Redacted(item.Interface())
		default:
			out[name] = item.Interface()
		}
	}
	return out
}

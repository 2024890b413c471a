package system

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"time"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// settings are those of the process, with the level of the log as it is now.
func (s *System) settings() []*insightv1.Setting {
	all := settingsOf(s.Config, configuration.DefaultConfig())
	if s.Level == nil || s.Level.Current() == s.Level.Configured() {
		return all
	}
	for _, one := range all {
		if one.GetKey() == "logging.level" {
			one.Value, one.IsDefault = s.Level.Current()+" (changed while the process runs; configured: "+s.Level.Configured()+")", false
		}
	}
	return all
}

// settingsOf lists every key of a configuration with its value as text, in the order of the sections, and marks those
// that differ from the defaults. Secrets are redacted as in Redacted.
func settingsOf(config, defaults configuration.Config) []*insightv1.Setting {
	var settings []*insightv1.Setting
	var walk func(prefix string, value, normal reflect.Value)
	// Fields without a key are set by the program, and shown nowhere.
	walk = func(prefix string, value, normal reflect.Value) {
		for i := range value.NumField() {
			field := value.Type().Field(i)
			name := field.Tag.Get("config")
			if name == "" || !field.IsExported() {
				continue
			}
			if value.Field(i).Kind() == reflect.Struct {
				walk(prefix+name+".", value.Field(i), normal.Field(i))
				continue
			}
			settings = append(settings, &insightv1.Setting{
				Key:       prefix + name,
				Value:     settingText(configuration.RedactedValue(value.Field(i), field.Tag.Get("sensitive") == "true")),
				IsDefault: reflect.DeepEqual(value.Field(i).Interface(), normal.Field(i).Interface()),
			})
		}
	}
	walk("", reflect.ValueOf(config), reflect.ValueOf(defaults))
	return settings
}

// settingText formats a redacted value as in the configuration file, on one line.
func settingText(value any) string {
	switch value := value.(type) {
	case string:
		if u, err := url.Parse(value); err == nil && u.User != nil { // a password where none belongs
			value, _ = configuration.WithoutPassword(value)
		}
		return value
	case time.Duration:
		return value.String()
	}
	kind := reflect.ValueOf(value)
	switch kind.Kind() { //nolint:exhaustive // the rest is plain
	case reflect.Slice, reflect.Map:
		if kind.Len() == 0 {
			return ""
		}
		if text, err := json.Marshal(value); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(value)
}

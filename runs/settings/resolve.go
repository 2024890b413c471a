package settings

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
)

// Level is the settings of one scope.
type Level struct {
	Scope    settings.ScopeLevel
	Settings *settings.Settings // nil means that nothing is set
}

// Resolve merges levels that are given from the broadest to the narrowest. The narrowest level that mentions a
// setting decides: it sets a value, or unsets it. Maps are merged key by key, the narrower over the broader; unset
// drops broader entries. The result names for each setting the level that decided, for maps the narrowest that
// contributed. Settings that no level mentions are absent.
func Resolve(levels []Level) *settings.Settings {
	result := &settings.Settings{}
	views := make([]view, 0, len(levels))
	for _, level := range levels {
		if level.Settings != nil {
			views = append(views, view{level.Scope, level.Settings.ProtoReflect()})
		}
	}
	resolveGroup(result.ProtoReflect(), views)
	return result
}

// view is a group, or a single setting, as one level has it.
type view struct {
	scope   settings.ScopeLevel
	message protoreflect.Message
}

// The fields that every setting has.
const (
	stateField = "state"
	scopeField = "scope_level"
)

// isSetting reports whether a field is a single setting rather than a group.
func isSetting(message protoreflect.MessageDescriptor) bool {
	return message.Fields().ByName(stateField) != nil && message.Fields().ByName(scopeField) != nil
}

// eachField calls do with every field of a group.
func eachField(group protoreflect.MessageDescriptor, do func(protoreflect.FieldDescriptor)) {
	for i := range group.Fields().Len() {
		do(group.Fields().Get(i))
	}
}

func resolveGroup(into protoreflect.Message, levels []view) {
	eachField(into.Descriptor(), func(field protoreflect.FieldDescriptor) {
		var inner []view
		for _, level := range levels {
			if level.message.Has(field) {
				inner = append(inner, view{level.scope, level.message.Get(field).Message()})
			}
		}
		result := into.NewField(field).Message()
		if isSetting(field.Message()) {
			resolveSetting(result, inner)
		} else {
			resolveGroup(result, inner)
		}
		empty := true
		result.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool {
			empty = false
			return false
		})
		if !empty {
			into.Set(field, protoreflect.ValueOfMessage(result))
		}
	})
}

// resolveSetting goes from the broadest level to the narrowest, so that the narrowest wins.
func resolveSetting(into protoreflect.Message, levels []view) {
	fields := into.Descriptor().Fields()
	for _, level := range levels {
		state := stateOf(level.message)
		if state == settings.SettingState_SETTING_STATE_INHERIT {
			continue
		}
		merged := entriesOf(into)
		if state == settings.SettingState_SETTING_STATE_UNSET {
			merged = nil
		}
		// A value replaces all fields of the broader one, not only those that it sets.
		eachField(into.Descriptor(), into.Clear)
		if state == settings.SettingState_SETTING_STATE_VALUE {
			level.message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
				into.Set(field, value)
				return true
			})
			mergeEntries(into, merged)
		}
		into.Set(fields.ByName(stateField), protoreflect.ValueOfEnum(state.Number()))
		into.Set(fields.ByName(scopeField), protoreflect.ValueOfEnum(level.scope.Number()))
	}
}

func stateOf(setting protoreflect.Message) settings.SettingState {
	return settings.SettingState(setting.Get(setting.Descriptor().Fields().ByName(stateField)).Enum())
}

// entriesOf are the entries of a setting that is a map; nil for others.
func entriesOf(setting protoreflect.Message) map[string]string {
	if of, ok := setting.Interface().(*settings.StringMapSetting); ok {
		return of.GetMapValue().GetEntries()
	}
	return nil
}

// mergeEntries puts the broader entries below those of a setting that is a map.
func mergeEntries(setting protoreflect.Message, broader map[string]string) {
	of, ok := setting.Interface().(*settings.StringMapSetting)
	if !ok {
		return
	}
	merged := make(map[string]string, len(broader)+len(of.GetMapValue().GetEntries()))
	for _, entries := range []map[string]string{broader, of.GetMapValue().GetEntries()} {
		for name, value := range entries {
			merged[name] = value
		}
	}
	of.MapValue = &settings.StringMap{Entries: merged} // the level's own message is shared and must not change
}

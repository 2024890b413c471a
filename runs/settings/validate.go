package settings

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/names/accelerator"
)

// FieldError names the invalid setting by its path, such as task_resource.min.cpu.
type FieldError struct {
	Field, Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// MaxSize bounds the settings of one scope, in bytes: every action carries their result.
const MaxSize = 64 << 10

// Normalize completes settings before they are stored for a scope: each setting names the scope, and has a value only
// if its state says so. Call Validate first.
func Normalize(given *settings.Settings, scope settings.ScopeLevel) *settings.Settings {
	result := proto.CloneOf(given)
	normalizeGroup(result.ProtoReflect(), scope)
	return result
}

func normalizeGroup(group protoreflect.Message, scope settings.ScopeLevel) {
	group.SetUnknown(nil)
	eachField(group.Descriptor(), func(field protoreflect.FieldDescriptor) {
		if !group.Has(field) {
			return
		}
		inner := group.Get(field).Message()
		if !isSetting(field.Message()) {
			normalizeGroup(inner, scope)
			return
		}
		inner.SetUnknown(nil)
		state := stateOf(inner)
		if state == settings.SettingState_SETTING_STATE_INHERIT {
			group.Clear(field)
			return
		}
		if state == settings.SettingState_SETTING_STATE_UNSET {
			eachField(inner.Descriptor(), inner.Clear)
		}
		fields := inner.Descriptor().Fields()
		inner.Set(fields.ByName(stateField), protoreflect.ValueOfEnum(state.Number()))
		inner.Set(fields.ByName(scopeField), protoreflect.ValueOfEnum(scope.Number()))
	})
}

// Validate returns a FieldError for the first setting whose value is invalid by itself. The service checks whether a
// base directory is within the storage.
func Validate(given *settings.Settings) error {
	if size := proto.Size(given); size > MaxSize {
		return &FieldError{"", fmt.Sprintf("must have at most %[2]d bytes, got %[1]d", size, MaxSize)}
	}
	return validateGroup(given.ProtoReflect(), "")
}

func validateGroup(group protoreflect.Message, prefix string) (failure error) {
	eachField(group.Descriptor(), func(field protoreflect.FieldDescriptor) {
		if failure != nil || !group.Has(field) {
			return
		}
		inner, path := group.Get(field).Message(), prefix+string(field.Name())
		if !isSetting(field.Message()) {
			failure = validateGroup(inner, path+".")
			return
		}
		switch state := stateOf(inner); state {
		case settings.SettingState_SETTING_STATE_INHERIT, settings.SettingState_SETTING_STATE_UNSET:
		case settings.SettingState_SETTING_STATE_VALUE:
			if problem := check(path, inner.Interface()); problem != "" {
				failure = &FieldError{path, problem}
			}
		default:
			failure = &FieldError{path + ".state", fmt.Sprintf("%d is not a known state of a setting", state)}
		}
	})
	return failure
}

// check returns what is wrong with a value; empty when it is valid.
func check(path string, value any) string {
	switch value := value.(type) {
	case *settings.StringSetting:
		return checkString(path, value.GetStringValue())
	case *settings.Int64Setting:
		if n := value.GetIntValue(); n < 0 || n == 1 || n > 1<<30 {
			return fmt.Sprintf("%d is neither 0, for no limit, nor 2 to %d", n, 1<<30)
		}
	case *settings.QuantitySetting:
		return checkQuantity(path, value.GetQuantityValue())
	case *settings.StringMapSetting:
		return checkMap(path, value.GetMapValue().GetEntries())
	case *settings.AcceleratorSetting:
		return checkAccelerator(value.GetAcceleratorValue())
	}
	return ""
}

// uriForm accepts absolute paths, and URIs that name a bucket or host: neither //path nor s3:///path.
var uriForm = regexp.MustCompile(`^([a-z][a-z0-9+.-]*:/)?/[^/]`)

func checkString(path, text string) string {
	if text == "" {
		return "is empty; unset it to have none"
	}
	switch path {
	case "run.default_queue":
		if !kuberule.IsValue(text) {
			return fmt.Sprintf("%q is not a valid queue name: it %s", shown(text), kuberule.ValueRule)
		}
	case "run.run_base_dir", "storage.raw_data_path":
		return checkURI(text)
	case "security.service_account", "pod_template_name":
		if !kuberule.IsName(text) {
			return fmt.Sprintf("%q is not a valid Kubernetes object name: it %s", shown(text), kuberule.NameRule)
		}
	case "app.app_dns_strategy":
		if text != "shared" && text != "dataplane_specific" {
			return fmt.Sprintf("%q is neither shared nor dataplane_specific", shown(text))
		}
	}
	return ""
}

func checkURI(text string) string {
	control := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
	switch {
	case !uriForm.MatchString(text):
		return fmt.Sprintf("%q is neither an absolute path nor a URI such as s3://bucket/prefix", shown(text))
	case control >= 0 || strings.ContainsAny(text, "?#"):
		return "may contain neither spaces and control characters nor ? and #"
	}
	for _, part := range strings.Split(text, "/") {
		if part == ".." || part == "." {
			return fmt.Sprintf("may not contain the part %q", part)
		}
	}
	return ""
}

func checkQuantity(path, text string) string {
	amount, err := Quantity(text)
	switch {
	case err != nil:
		return err.Error()
	case strings.HasSuffix(path, ".gpu") && !amount.IsInt():
		return fmt.Sprintf("%q: devices are whole", text)
	}
	if value, _ := amount.Float64(); value > math.MaxInt64 {
		return fmt.Sprintf("%q is more than there can be", text)
	}
	return ""
}

func checkAccelerator(given *core.GPUAccelerator) string {
	if name := accelerator.Name(given); name == "" || !kuberule.IsValue(name) {
		return fmt.Sprintf("%q is not a valid accelerator name such as nvidia-l4", shown(name))
	}
	if size := given.GetPartitionSize(); !kuberule.IsValue(size) {
		return fmt.Sprintf("%q is not a valid partition size such as 1g.5gb", shown(size))
	}
	return ""
}

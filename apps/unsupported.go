package apps

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// rulings says how each field of a spec, and of the messages that only specs have, is treated. A test walks the
// contract and fails when a field is missing. An empty text means that the field has its effect, or is shown as it is;
// other fields are refused with the text.
var rulings = map[protoreflect.FullName]map[protoreflect.Name]string{
	"flyteidl2.app.Spec": {
		"container": "", "pod": "", "autoscaling": "", "ingress": "", "desired_state": "", "cluster_pool": "", "cluster": "", "images": "",
		"security_context": "", "extended_resources": "", "runtime_metadata": "", "profile": "", "creator": "", "inputs": "", "links": "",
		"timeouts": "",
	},
	"flyteidl2.app.AutoscalingConfig": {"replicas": "", "scaledown_period": "", "scaling_metric": ""},
	"flyteidl2.app.IngressConfig":     {"private": "", "subdomain": "", "cname": ""},
	"flyteidl2.app.SecurityContext":   {"run_as": "", "secrets": "", "allow_anonymous": ""},
	"flyteidl2.app.TimeoutConfig":     {"request_timeout": ""},
	"flyteidl2.core.Identity": {
		"k8s_service_account": "",
		"iam_role":            "pods get no role of a cloud here; bind one to the service account and name that",
		"oauth2_client":       "apps get no OAuth2 client here; store its secret and name it under secrets",
		"execution_identity":  "",
	},
}

// unsupported refuses what is set and has no effect here.
func unsupported(at string, spec *app.Spec) error { return refused(at, spec.ProtoReflect()) }

// refused walks the fields that are set and returns the first that must not be. Lists and maps are not walked: none of
// their messages is in the table.
func refused(at string, message protoreflect.Message) (err error) {
	ruled, known := rulings[message.Descriptor().FullName()]
	if !known {
		return nil
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		path := at + "." + string(field.Name())
		if words := ruled[field.Name()]; words != "" {
			err = rpc.InvalidArgument(path, "%s", words)
		} else if field.Message() != nil && !field.IsList() && !field.IsMap() {
			err = refused(path, value.Message())
		}
		return err == nil
	})
	return err
}

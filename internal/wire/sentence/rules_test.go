package sentence_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// ofRules are what is said of requests that break a rule of the contract, whose words the library has in the rules themselves.
func ofRules() map[string]bool {
	// The library says these of fields and of oneofs of any type.
	found := map[string]bool{
		"value is required": true, "exactly one field is required in oneof": true, "value must be one of the defined enum values": true,
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if name := string(file.FullName()); strings.HasPrefix(name, "flyteidl2.") || strings.HasPrefix(name, "flytebinary.") {
			ofMessages(found, file.Messages())
		}
		return true
	})
	return found
}

func ofMessages(found map[string]bool, all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		message := all.Get(i)
		if rules, ok := proto.GetExtension(message.Options(), validate.E_Message).(*validate.MessageRules); ok {
			for _, rule := range rules.GetCel() {
				found[rule.GetMessage()] = true
			}
		}
		for j := range message.Fields().Len() {
			if rules, ok := proto.GetExtension(message.Fields().Get(j).Options(), validate.E_Field).(*validate.FieldRules); ok {
				for _, rule := range rules.GetCel() {
					found[rule.GetMessage()] = true
				}
				ofField(found, rules.ProtoReflect())
			}
		}
		ofMessages(found, message.Messages())
	}
}

var literals = regexp.MustCompile(`'([^']*)'`)

// ofField adds the texts of the rules that are set, and of those of elements, keys and values.
func ofField(found map[string]bool, rules protoreflect.Message) {
	rules.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if predefined, ok := proto.GetExtension(field.Options(), validate.E_Predefined).(*validate.PredefinedRules); ok {
			for _, rule := range predefined.GetCel() {
				add := func(text string) {
					if text, _ = sentence.Split(text, nil); strings.Contains(text, " ") {
						found[text] = true
					}
				}
				add(rule.GetMessage())
				for _, one := range literals.FindAllStringSubmatch(rule.GetExpression(), -1) {
					add(one[1])
				}
			}
		}
		if field.Message() != nil && !field.IsList() && !field.IsMap() && strings.HasPrefix(string(field.Message().FullName()), "buf.validate.") {
			ofField(found, value.Message())
		}
		return true
	})
}

// TestBrokenRulesAreKnown: what the library says of broken rules is what the rules have.
func TestBrokenRulesAreKnown(t *testing.T) {
	known := ofRules()
	long := strings.Repeat("x", 300)
	seen := map[string]bool{}
	for _, request := range []proto.Message{
		&workflow.CreateRunRequest{}, &workflow.WatchRunsRequest{}, &common.ActionIdentifier{Run: &common.RunIdentifier{Name: long}},
		&insightv1.ListProblemsRequest{Task: long + long}, &task.InlineRule{}, &insightv1.SaveViewRequest{},
		&insightv1.ListTaskHealthRequest{Limit: 1 << 30},
	} {
		var broken *protovalidate.ValidationError
		require.ErrorAs(t, protovalidate.Validate(request), &broken)
		for _, one := range broken.Violations {
			words := one.Proto.GetMessage()
			of := slices.IndexFunc(slices.Collect(maps.Keys(known)), func(text string) bool {
				pattern := regexp.MustCompile(`\\\{\d+\\\}`).ReplaceAllString(regexp.QuoteMeta(text), ".+")
				return regexp.MustCompile("^" + pattern + "$").MatchString(words)
			})
			require.GreaterOrEqual(t, of, 0, "%q is not in the catalogue", words)
			seen[one.Proto.GetRuleId()] = true
		}
	}
	require.Greater(t, len(seen), 3)
}

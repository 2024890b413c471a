package notifications

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// ruleOff is the name of the rule that turns notifications off for a run.
const ruleOff = "off"

// Phases are bits 1<<phase.
type phases = int32

// phaseNames are the names of the configuration. A recovered run has succeeded.
var phaseNames = map[string]phases{
	"succeeded": phasesOf(common.ActionPhase_ACTION_PHASE_SUCCEEDED),
	"failed":    phasesOf(common.ActionPhase_ACTION_PHASE_FAILED),
	"aborted":   phasesOf(common.ActionPhase_ACTION_PHASE_ABORTED),
	"timed_out": phasesOf(common.ActionPhase_ACTION_PHASE_TIMED_OUT),
	"paused":    phasesOf(common.ActionPhase_ACTION_PHASE_PAUSED),
}

func phasesOf(list ...common.ActionPhase) (bits phases) {
	for _, phase := range list {
		bits |= 1 << phase
		if phase == common.ActionPhase_ACTION_PHASE_SUCCEEDED {
			bits |= 1 << common.ActionPhase_ACTION_PHASE_RECOVERED
		}
	}
	return bits
}

// book is the configuration's rules and deliveries.
type book struct {
	rules      map[string]rule
	order      []string
	deliveries map[string]*notification.DeliveryConfigTemplate
}

type rule struct {
	Rule
	phases phases
}

// applies reports whether the rule is for runs of a project and domain.
func (r rule) applies(project, domain string) bool {
	return len(r.Projects) == 0 || slices.Contains(r.Projects, project) || slices.Contains(r.Projects, project+"/"+domain)
}

// newBook reads rules and deliveries. The error lists all fields that are wrong.
func newBook(config Config) (*book, error) {
	b := &book{rules: map[string]rule{}, deliveries: map[string]*notification.DeliveryConfigTemplate{}}
	var found invalid.Fields
	for i, given := range config.Deliveries {
		found.Section("", b.addDelivery(fmt.Sprintf("deliveries[%d]", i), given, config.Email.Host != ""))
	}
	for i, given := range config.Rules {
		found.Section(fmt.Sprintf("rules[%d]", i), b.addRule(given))
	}
	return b, found.Err()
}

func (b *book) addDelivery(at string, given Delivery, mails bool) error {
	var found invalid.Fields
	_, twice := b.deliveries[given.Name]
	found.If(given.Name == "" || len(given.Name) > 100, "%s.name: must have 1 to 100 characters", at)
	found.If(twice, "%s.name: there are two deliveries %s", at, given.Name)
	template, err := given.template()
	b.deliveries[given.Name] = template // even if it is wrong: rules may name it
	if err != nil {
		found.Section(at, err)
		return found.Err()
	}
	if err := checkDelivery(at, template, true); err != nil {
		var ours *rpc.Error
		if errors.As(err, &ours) {
			err = errors.New(ours.Public())
		}
		found.Section("", err)
	}
	found.If(template.GetEmail() != nil && !mails, "%s.type: email requires notifications.email.host", at)
	return found.Err()
}

func (b *book) addRule(given Rule) error {
	var found invalid.Fields
	one := rule{Rule: given}
	_, twice := b.rules[given.Name]
	found.If(given.Name == "" || len(given.Name) > 100, "name: must have 1 to 100 characters")
	found.If(given.Name == ruleOff, "name: off is the rule that turns notifications off for a run")
	found.If(twice, "name: there are two rules %s", given.Name)
	found.If(len(given.Phases) == 0, "phases: at least one is required")
	for i, name := range given.Phases {
		bits, known := phaseNames[strings.ToLower(name)]
		found.If(!known, "phases[%d]: must be one of %s, got %q", i, strings.Join(slices.Sorted(maps.Keys(phaseNames)), ", "), name)
		one.phases |= bits
	}
	found.If(len(given.Deliveries) == 0, "deliveries: at least one is required")
	for i, name := range given.Deliveries {
		_, known := b.deliveries[name]
		found.If(!known, "deliveries[%d]: there is no delivery %q", i, name)
	}
	b.rules[given.Name] = one
	b.order = append(b.order, given.Name)
	return found.Err()
}

// everywhere are the phases that rules name which apply without being asked for.
func (b *book) everywhere() (bits phases) {
	for _, r := range b.rules {
		if r.Everywhere {
			bits |= r.phases
		}
	}
	return bits
}

func (b *book) ruleNames() string     { return orNone(b.order) }
func (b *book) deliveryNames() string { return orNone(slices.Sorted(maps.Keys(b.deliveries))) }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// wanted is one receiver of an occurrence: either a delivery of the configuration, by name, or one of the run, or a rule
// that is not known.
type wanted struct {
	rule     string // of the configuration
	delivery string // of the configuration
	template *notification.DeliveryConfigTemplate
}

// match lists the recipients of a phase of a run. Each delivery of the configuration is listed once.
func (b *book) match(spec *task.RunSpec, project, domain string, phase common.ActionPhase) []wanted {
	if spec.GetNotificationRuleName() == ruleOff {
		return nil
	}
	var found []wanted
	seen := map[string]bool{}
	named := func(rule, delivery string) {
		if !seen[delivery] {
			seen[delivery] = true
			found = append(found, wanted{rule: rule, delivery: delivery})
		}
	}
	for _, one := range spec.GetNotificationRules().GetRules() {
		if phasesOf(one.GetOnPhases()...)&(1<<phase) == 0 {
			continue
		}
		if name := one.GetDeliveryConfigName(); name != "" {
			named("", name)
		} else {
			found = append(found, wanted{template: one.GetDeliveryTemplate()})
		}
	}
	if name := spec.GetNotificationRuleName(); name != "" {
		if r, known := b.rules[name]; !known {
			found = append(found, wanted{rule: name})
		} else if r.phases&(1<<phase) != 0 && r.applies(project, domain) {
			for _, delivery := range r.Deliveries {
				named(name, delivery)
			}
		}
	}
	for _, name := range b.order {
		if r := b.rules[name]; r.Everywhere && r.phases&(1<<phase) != 0 && r.applies(project, domain) {
			for _, delivery := range r.Deliveries {
				named(name, delivery)
			}
		}
	}
	return found
}

const (
	standardText = "Run {{.Run.Name}} in {{.Run.Project}}/{{.Run.Domain}}: {{.Phase}}\n{{.Error}}{{.Prompt}}"
	standardMail = "Run: {{.Run.Name}}\nProject/Domain: {{.Run.Project}}/{{.Run.Domain}}\nPhase: {{.Phase}}\n{{.Error}}{{.Prompt}}\n"
	standardBody = `{"project":"{{.Run.Project}}","domain":"{{.Run.Domain}}","run":"{{.Run.Name}}","phase":"{{.Phase}}",` +
		`"error":"{{.Error}}","action":"{{.Action.Name}}","prompt":"{{.Prompt}}"}`
	standardTitle = "Run {{.Run.Name}}: {{.Phase}}"
)

// template is the delivery as the contract writes one.
func (d Delivery) template() (*notification.DeliveryConfigTemplate, error) {
	or := func(text, standard string) string {
		if text == "" {
			return standard
		}
		return text
	}
	post := func(headers map[string]string, body any) (*notification.DeliveryConfigTemplate, error) {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
		return &notification.DeliveryConfigTemplate{Webhook: &notification.WebhookDeliveryTemplate{
			Url: d.URL, Method: notification.HttpMethod_HTTP_METHOD_POST, Headers: headers, BodyTemplate: string(text),
		}}, nil
	}
	asJSON := map[string]string{"Content-Type": "application/json"}
	switch d.Type {
	case "slack":
		return post(asJSON, map[string]string{"text": or(d.Text, standardText)})
	case "teams":
		return post(asJSON, map[string]string{"title": or(d.Title, standardTitle), "text": or(d.Text, standardText)})
	case "webhook":
		method, known := notification.HttpMethod_value["HTTP_METHOD_"+strings.ToUpper(or(d.Method, "POST"))]
		if !known {
			return nil, fmt.Errorf("method: %q is not a method of HTTP", d.Method)
		}
		hook := &notification.WebhookDeliveryTemplate{
			Url: d.URL, Method: notification.HttpMethod(method), Headers: d.Headers, BodyTemplate: d.Body,
		}
		if d.Body == "" {
			hook.BodyTemplate = standardBody
			headers := maps.Clone(asJSON)
			for name, value := range d.Headers {
				if strings.EqualFold(name, "Content-Type") {
					delete(headers, "Content-Type")
				}
				headers[name] = value
			}
			hook.Headers = headers
		}
		return &notification.DeliveryConfigTemplate{Webhook: hook}, nil
	case "email":
		if len(d.To) == 0 {
			return nil, errors.New("to: at least one address is required")
		}
		return &notification.DeliveryConfigTemplate{Email: &notification.EmailDeliveryTemplate{
			To: recipients(d.To), Cc: recipients(d.CC), Bcc: recipients(d.BCC),
			Content: &notification.EmailDeliveryTemplate_Inline{Inline: &notification.InlineEmailTemplate{
				Subject: or(d.Title, standardTitle), TextTemplate: or(d.Text, standardMail), HtmlTemplate: d.HTML,
			}},
		}}, nil
	default:
		return nil, fmt.Errorf("type: must be webhook, slack, teams or email, got %q", d.Type)
	}
}

func recipients(addresses []string) []*notification.EmailRecipient {
	list := make([]*notification.EmailRecipient, len(addresses))
	for i, address := range addresses {
		list[i] = &notification.EmailRecipient{Address: address}
	}
	return list
}

package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// condition is an entry of an object's status.conditions.
type condition struct{ status, message string }

// conditionOf returns the condition of a type. The case of the type does not matter, as in kubectl.
func conditionOf(live *unstructured.Unstructured, kind string) condition {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions") // none
	for _, element := range conditions {
		fields, _ := element.(map[string]any)
		if name, _ := fields["type"].(string); strings.EqualFold(name, kind) {
			status, _ := fields["status"].(string)
			message, _ := fields["message"].(string)
			return condition{status: status, message: message}
		}
	}
	return condition{}
}

// parseConditions reads the annotation pulumi.com/waitFor: one expression, or a JSON list of expressions that must all hold. An
// expression is condition=TYPE, condition=TYPE=STATUS or jsonpath={PATH}=VALUE. Without a value, the path must exist. The forms are
// those of kubectl wait.
func parseConditions(annotation string) (judgement, error) {
	var expressions []string
	if err := json.Unmarshal([]byte(annotation), &expressions); err != nil {
		expressions = []string{annotation}
	}
	if len(expressions) == 0 {
		return nil, errors.New("at least one condition must be specified")
	}
	var all []judgement
	for _, expression := range expressions {
		parsed, err := parseCondition(expression)
		if err != nil {
			return nil, err
		}
		all = append(all, parsed)
	}
	return func(live *unstructured.Unstructured) verdict {
		for _, holds := range all {
			if found := holds(live); !found.ready {
				return found
			}
		}
		return verdict{ready: true}
	}, nil
}

func parseCondition(expression string) (judgement, error) {
	if text, ok := strings.CutPrefix(expression, "condition="); ok {
		kind, status, given := strings.Cut(text, "=")
		if !given {
			status = "True"
		}
		return func(live *unstructured.Unstructured) verdict {
			return verdict{
				ready:   strings.EqualFold(conditionOf(live, kind).status, status),
				message: fmt.Sprintf("Waiting for condition %s=%s", kind, status),
			}
		}, nil
	}
	if text, ok := strings.CutPrefix(expression, "jsonpath="); ok {
		return parsePath(text)
	}
	return nil, fmt.Errorf(`expected a "jsonpath=" or "condition=" prefix, got %q`, expression)
}

func parsePath(text string) (judgement, error) {
	end := strings.LastIndex(text, "}")
	path, rest := text[:end+1], text[end+1:]
	parsed := jsonpath.New("waitFor")
	if err := parsed.Parse(path); err != nil || end < 0 {
		return nil, errors.Join(fmt.Errorf("%q is no JSONPath", text), err)
	}
	value, given := strings.CutPrefix(rest, "=")
	return func(live *unstructured.Unstructured) verdict {
		found := new(bytes.Buffer)
		err := parsed.Execute(found, live.Object)
		return verdict{
			ready:   err == nil && found.Len() > 0 && (!given || found.String() == value),
			message: "Waiting for " + text,
		}
	}, nil
}

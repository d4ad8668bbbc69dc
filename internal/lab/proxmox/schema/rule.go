package schema

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Test is the kind of a permission rule.
type Test string

// The tests of a rule. Everyone, AnyUser and RootOnly are "world", "all" and no test in the description.
const (
	Everyone     Test = "world"
	AnyUser      Test = "all"
	RootOnly     Test = ""
	AllOf        Test = "and"
	AnyOf        Test = "or"
	Privilege    Test = "perm"
	UserParam    Test = "userid-param"
	UserGroup    Test = "userid-group"
	ModifyAccess Test = "perm-modify"
)

// Rule determines who may call a method. It is the "permissions" of the API description.
type Rule struct {
	Test Test
	// Rules are the parts of AllOf and AnyOf.
	Rules []Rule
	// Path is the access control path of Privilege and ModifyAccess, with parameters in braces.
	Path string
	// Privileges are those that Privilege and UserGroup require.
	Privileges []string
	// Any is set if one of the privileges is enough.
	Any bool
	// RequireParam is a parameter without which the rule fails.
	RequireParam string
	// Subject is what UserParam checks: "self" or "Realm.AllocateUser".
	Subject string
	// GroupsParam is "create" or "update" if UserGroup checks the groups parameter.
	GroupsParam string
}

var errRule = errors.New("not a permission rule")

// UnmarshalJSON decodes the nested arrays of the description.
func (r *Rule) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &r.Test)
	}

	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}

	if len(parts) == 0 {
		return nil
	}

	if err := json.Unmarshal(parts[0], &r.Test); err != nil {
		return err
	}

	return r.read(parts[1:])
}

func (r *Rule) read(parts []json.RawMessage) error {
	var targets []any

	switch r.Test {
	case AllOf, AnyOf:
		r.Rules = make([]Rule, len(parts))
		for i := range parts {
			targets = append(targets, &r.Rules[i])
		}
	case Privilege:
		targets = []any{&r.Path, &r.Privileges}
	case UserParam:
		targets = []any{&r.Subject}
	case UserGroup:
		targets = []any{&r.Privileges}
	case ModifyAccess:
		targets = []any{&r.Path}
	default:
		return fmt.Errorf("%w: %q", errRule, r.Test)
	}

	if len(parts) < len(targets) {
		return fmt.Errorf("%w: %s is incomplete", errRule, r.Test)
	}

	for i, target := range targets {
		if err := json.Unmarshal(parts[i], target); err != nil {
			return err
		}
	}

	return r.readOptions(parts[len(targets):])
}

func (r *Rule) readOptions(parts []json.RawMessage) error {
	for len(parts) > 1 {
		var name string
		if err := json.Unmarshal(parts[0], &name); err != nil {
			return err
		}

		var err error

		switch name {
		case "any":
			var anyOf Flag
			err = json.Unmarshal(parts[1], &anyOf)
			r.Any = bool(anyOf)
		case "require_param":
			err = json.Unmarshal(parts[1], &r.RequireParam)
		case "groups_param":
			err = json.Unmarshal(parts[1], &r.GroupsParam)
		default:
			return fmt.Errorf("%w: option %q", errRule, name)
		}

		if err != nil {
			return err
		}

		parts = parts[2:]
	}

	if len(parts) > 0 {
		return fmt.Errorf("%w: option without a value", errRule)
	}

	return nil
}

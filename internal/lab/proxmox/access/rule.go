package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Evaluate checks a method's permission rule for an identity and the unverified parameters of the request (RPCEnvironment.pm,
// check_api2_permissions). Its errors wrap ErrPermission.
func (d *Database) Evaluate(rule schema.Rule, identity string, params schema.Params) error {
	switch {
	case rule.Test == schema.Everyone:
		return nil
	case identity == "":
		return &Refusal{Detail: "user != null"}
	case identity == Root, rule.Test == schema.AnyUser:
		return nil
	case rule.Test == schema.RootOnly:
		return &Refusal{Detail: "user != root@pam"}
	default:
		return d.evaluate(rule, identity, params)
	}
}

func (d *Database) evaluate(rule schema.Rule, identity string, params schema.Params) error {
	switch rule.Test {
	case schema.AllOf:
		for _, part := range rule.Rules {
			if err := d.evaluate(part, identity, params); err != nil {
				return err
			}
		}

		return nil
	case schema.AnyOf:
		holds := func(part schema.Rule) bool { return d.evaluate(part, identity, params) == nil }
		if slices.ContainsFunc(rule.Rules, holds) {
			return nil
		}

		return &Refusal{}
	case schema.Privilege:
		if rule.RequireParam != "" && !params.Has(rule.RequireParam) {
			return &Refusal{}
		}

		return d.Check(identity, expand(rule.Path, params), rule.Any, rule.Privileges...)
	case schema.ModifyAccess:
		return d.CheckModify(identity, expand(rule.Path, params))
	case schema.UserParam:
		return d.evaluateUser(rule, identity, params.Get("userid"))
	case schema.UserGroup:
		return d.evaluateGroups(rule, identity, params)
	default:
		return fmt.Errorf("%w: unknown permission test %q", ErrPermission, rule.Test)
	}
}

// expand replaces the parameters in a path such as "/vms/{vmid}".
func expand(template string, params schema.Params) string {
	for name, v := range params {
		if len(v.Items) == 1 {
			template = strings.ReplaceAll(template, "{"+name+"}", v.Items[0])
		}
	}

	return NormalizePath(template)
}

func (d *Database) evaluateUser(rule schema.Rule, identity, user string) error {
	_, realm, _ := strings.Cut(user, "@")

	switch rule.Subject {
	case "self":
		if _, ok := d.Users[user]; ok && user == identity {
			return nil
		}

		return &Refusal{}
	case "Realm.AllocateUser":
		return d.Check(identity, "/access/realm/"+realm, false, "Realm.AllocateUser")
	default:
		return fmt.Errorf("%w: unknown user test %q", ErrPermission, rule.Subject)
	}
}

// evaluateGroups requires the privileges on all groups, or on the groups of the request and its user. For a user that does
// not exist the result is not a refusal but another error (RPCEnvironment.pm, exec_api2_perm_check; AccessControl.pm,
// check_user_exist).
func (d *Database) evaluateGroups(rule schema.Rule, identity string, params schema.Params) error {
	var user *User

	if rule.GroupsParam != "create" {
		known, err := d.User(params.Get("userid"))
		if err != nil {
			return err
		}

		user = known
	}

	if d.Check(identity, "/access/groups", true, rule.Privileges...) == nil {
		return nil
	}

	may := func(group string) bool {
		return d.Check(identity, "/access/groups/"+group, true, rule.Privileges...) == nil
	}
	wanted := strings.Join(rule.Privileges, "|")

	if rule.GroupsParam != "" {
		groups := params.List("groups")
		if len(groups) == 0 {
			return &Refusal{Detail: "/access/groups, " + wanted}
		}

		for _, group := range groups {
			if !may(group) {
				return &Refusal{Detail: "/access/groups/" + group + ", " + wanted}
			}
		}
	}

	if rule.GroupsParam != "create" && !slices.ContainsFunc(user.Groups, may) {
		return &Refusal{}
	}

	return nil
}

package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// accessNeed is a privilege on a path.
type accessNeed struct{ privilege, path string }

// needs returns the privileges that a call needs (pve-access-control, the permissions of PVE/API2/Role.pm, Group.pm, User.pm and ACL.pm).
func (c accessChange) needs() []accessNeed {
	switch {
	case strings.HasPrefix(c.path, "/access/roles"):
		return []accessNeed{{"Sys.Modify", "/access"}}
	case strings.HasPrefix(c.path, "/access/groups"):
		return []accessNeed{{"Group.Allocate", "/access/groups"}}
	case strings.HasPrefix(c.path, "/access/users"):
		return []accessNeed{{"User.Modify", "/access/groups"}, {"Realm.AllocateUser", "/access/realm"}}
	default:
		return []accessNeed{{"Permissions.Modify", fmt.Sprint(c.params["path"])}}
	}
}

// checkPrivileges refuses a plan for which the token lacks privileges, and names them all.
func (p accessPlan) checkPrivileges(ctx context.Context, reader Reader) error {
	var checked, missing []accessNeed
	for _, change := range p.changes {
		for _, need := range change.needs() {
			if slices.Contains(checked, need) {
				continue
			}
			checked = append(checked, need)
			has, err := reader.Privileges(ctx, need.path)
			if err != nil {
				return fmt.Errorf("the privileges of the token on %s cannot be read (%w): mend that, then run again", need.path, err)
			}
			if !slices.Contains(has, need.privilege) {
				missing = append(missing, need)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var privileges []string
	for _, need := range missing {
		if !slices.Contains(privileges, need.privilege) {
			privileges = append(privileges, need.privilege)
		}
	}
	return fmt.Errorf("the token lacks %s (for: %s): as root on the host, run `pveum role modify ROLE --append 1 --privs \"%s\"` for a role that it has there, with which it can give itself everything",
		joinedNeeds(missing), strings.Join(p.sentences(), "; "), strings.Join(privileges, " "))
}

func joinedNeeds(needs []accessNeed) string {
	words := make([]string, len(needs))
	for i, need := range needs {
		words[i] = need.privilege + " on " + need.path
	}
	return strings.Join(words, ", ")
}

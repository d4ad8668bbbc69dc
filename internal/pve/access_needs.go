package pve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// accessNeed is a privilege on a path, or another one that is enough there.
type accessNeed struct{ privilege, path, or string }

// needs returns the privileges that a call needs (pve-access-control, the permissions of PVE/API2/Role.pm, Group.pm, User.pm and ACL.pm; for
// entries of the access control list PVE/RPCEnvironment.pm, check_perm_modify).
func (c accessChange) needs() []accessNeed {
	switch {
	case strings.HasPrefix(c.path, "/access/roles"):
		return []accessNeed{{privilege: "Sys.Modify", path: "/access"}}
	case strings.HasPrefix(c.path, "/access/groups"):
		return []accessNeed{{privilege: "Group.Allocate", path: "/access/groups"}}
	case strings.HasPrefix(c.path, "/access/users"):
		needs := []accessNeed{{privilege: "User.Modify", path: "/access/groups"}}
		if c.method == http.MethodPut {
			return needs
		}
		return append(needs, accessNeed{privilege: "Realm.AllocateUser", path: "/access/realm/" + c.realm()})
	default:
		path := fmt.Sprint(c.params["path"])
		return []accessNeed{{privilege: "Permissions.Modify", path: path, or: ownerOf(path)}}
	}
}

// realm returns the realm of the user that a call creates or deletes.
func (c accessChange) realm() string {
	id, isNew := c.params["userid"].(string)
	if !isNew {
		id = c.path
	}
	return id[strings.LastIndex(id, "@")+1:]
}

// ownerOf returns the privilege that is enough to give permissions on a path below /storage, /vms or /pool; empty for any other path.
func ownerOf(path string) string {
	for prefix, privilege := range map[string]string{"/storage/": "Datastore.Allocate", "/vms/": "VM.Allocate", "/pool/": "Pool.Allocate"} {
		if strings.HasPrefix(path, prefix) {
			return privilege
		}
	}
	return ""
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
			if !slices.Contains(has, need.privilege) && (need.or == "" || !slices.Contains(has, need.or)) {
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
